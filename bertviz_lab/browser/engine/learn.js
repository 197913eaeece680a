// What Learn asks: lessons and their measurements, which Python has recorded.

const recorded = async ({ load, site }, language) => {
  const everything = JSON.parse(new TextDecoder().decode(await load(site.files.lessons)));
  return everything[language] ?? everything.en;
};

export const lessons = async (context, { language }) => (await recorded(context, language)).lessons;

export async function measured(context, { number, language, chosen = '' }) {
  return (await recorded(context, language)).measured[number][chosen ?? ''];
}

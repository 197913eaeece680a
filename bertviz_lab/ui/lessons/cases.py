"""The texts on which the claims of the lessons are measured, written for them: a claim is tried on all of its texts.

Tiny Town's are told with the words of its world; the others are plain English.
"""

from itertools import product

#: A text in which what comes after [MASK] says what it is, and the word.
RIGHT_CONTEXT = (
    ("The [MASK] scored two goals in the final match.", "team"),
    ("The [MASK] flows through the city into the sea.", "river"),
    ("The [MASK] was directed by an American director and stars two actors.", "film"),
    ("The [MASK] was recorded in a studio and released by a label.", "album"),
    ("The [MASK] was published by the university press.", "book"),
    ("The [MASK] has 12 pupils and three teachers.", "school"),
    ("The [MASK] sank in the Atlantic after it hit an iceberg.", "ship"),
    ("The [MASK] was built in 1889, and a priest says mass in it every Sunday.", "church"),
    ("The [MASK] was written by Shakespeare and first performed in London.", "play"),
    ("The [MASK] government in Paris signed the treaty.", "french"),
    ("The [MASK] government in Berlin signed the treaty.", "german"),
    ("The [MASK] plays its home games at the stadium.", "club"),
)

#: A sentence and one that follows it.
PAIRS = (
    ("The island has a small harbour.", "The island can be reached by boat from the harbour."),
    ("The museum opened in 1921.", "The museum has a collection of old paintings."),
    ("The bridge was built in 1874.", "The bridge was closed after a flood and a new one was built."),
    ("He was born in Vienna in 1820.", "He studied music with his father and became a teacher."),
    ("The school was founded by a priest.", "The school has about 300 pupils."),
    ("She wrote her first novel in 1951.", "The novel was published two years later in London."),
    ("The station is on the line to the coast.", "Trains stop at the station every hour."),
    ("The team won the cup in 1988.", "The team lost the final in the following year."),
    ("The ship was launched in 1911.", "The ship sank in a storm two years later."),
    ("He was elected mayor of the town in 1972.", "He was mayor for eight years."),
    ("The castle stands on a hill above the village.", "The castle was burned down in the war."),
    ("The bird builds its nest in tall trees.", "The female lays three or four eggs."),
    ("The river rises in the mountains.", "It flows south into the sea."),
    ("The king died in 1547.", "His son became king at the age of nine."),
    ("The band released their first album in 1994.", "The album sold a million copies."),
    ("She studied law at the university.", "After her studies she worked as a judge."),
    ("The war ended in 1918.", "The army returned home in the next year."),
    ("The church was built in the 12th century.", "Its tower was destroyed by a fire."),
    ("He played football for the national team.", "He scored twelve goals in thirty matches."),
    ("The species lives in the forests of South America.", "It feeds on insects and fruit."),
    ("The film was shown at the festival.", "It won the prize for the best director."),
    ("The city lies on a river in the north of the country.", "It has a population of 20,000 people."),
)

#: A word that occurs twice in a text.
TWICE = (
    ("bank", "The river has a bank, and the city has a bank too."),
    ("light", "The light is bright, and the box is light."),
    ("play", "She wrote a play, and the children play outside."),
    ("king", "The king of France met the king of Spain."),
    ("star", "A star shines in the sky, and a film has a star."),
    ("book", "This book is old, and that book is new."),
    ("city", "The city of London is larger than the city of York."),
    ("second", "The second runner came one second later."),
)

#: A word with two meanings, and a text for each of them.
MEANINGS = (
    ("bank", "He sat on the bank of the river.", "She works at a bank in the city."),
    ("play", "The play was written in 1920.", "The children play in the garden."),
    ("state", "The state of Texas is large.", "The state of his health was poor."),
    ("star", "The star shines in the sky.", "She was a star of the film."),
    ("light", "They light a fire.", "The light of the sun is bright."),
    ("match", "He won the match against Spain.", "He lit the fire with a match."),
    ("second", "The second king of the country.", "It took one second."),
    ("may", "In May the flowers grow.", "You may leave now."),
)

#: Texts whose attention is looked at.
PLAIN = (
    "The river flows through the city into the sea.",
    "She was born in London and studied law at the university.",
    "The film was released in 1994 and won three awards.",
    "He played football for the national team.",
    "The church was built in the 12th century by the monks.",
    "The king died, and his son took the throne.",
    "The two sisters live in a small house near the forest.",
    "The army crossed the river at night and took the bridge.",
)

#: Tiny Town: the colour of a thing, told far before [MASK].
COPIED = tuple(
    (f"The {colour} {thing} at the market costs eight coins. So {one} and {other} buy the [MASK] {thing}.", colour)
    for colour, thing, one, other in (
        ("black", "kite", "Ben", "Sara"),
        ("red", "bike", "Leo", "Ben"),
        ("blue", "kite", "Mia", "Sara"),
        ("green", "ball", "Noah", "Tom"),
        ("yellow", "drum", "Emma", "Yuki"),
        ("black", "book", "Ben", "Ravi"),
        ("white", "doll", "Sara", "Nina"),
        ("purple", "truck", "Tom", "Leo"),
        ("orange", "hat", "Yuki", "Mia"),
        ("red", "coat", "Ravi", "Noah"),
        ("blue", "scarf", "Nina", "Emma"),
        ("yellow", "kite", "Mia", "Ben"),
    )
)

#: Praise, and blame in nearly the same words.
OPPOSITES = (
    ("a warm and funny film", "a cold and boring film"),
    ("a wonderful story", "a terrible story"),
    ("the acting is brilliant", "the acting is awful"),
    ("I loved every minute of it", "I hated every minute of it"),
    ("one of the best films of the year", "one of the worst films of the year"),
    ("a smart script", "a stupid script"),
    ("very well made", "very badly made"),
    ("an excellent drama", "a bad drama"),
    ("the music is beautiful", "the music is ugly"),
    ("I was happy when I left", "I was angry when I left"),
    ("the plot is very clever", "the plot is very dull"),
    ("a great start and a strong end", "a weak start and a poor end"),
    ("it is the funniest show that I have seen", "it is the saddest show that I have seen"),
    ("a joy from start to finish", "a bore from start to finish"),
    ("I will watch it again with pleasure", "I will never watch it again"),
    ("this is his finest book", "this is his weakest book"),
    ("she is charming in this part", "she is annoying in this part"),
    ("you should see it", "you should avoid it"),
    ("the dialogue sounds natural and fresh", "the dialogue sounds false and tired"),
    ("my children liked the animals", "my children disliked the animals"),
    ("everybody in the cinema laughed", "everybody in the cinema slept"),
    ("everybody in the cinema was delighted", "everybody in the cinema was bored"),
    ("the songs are good", "the songs are bad"),
    ("she plays her part well", "she plays her part poorly"),
    ("the jokes work", "the jokes fail"),
    ("a touching and honest portrait", "a shallow and dishonest portrait"),
    ("the pictures are gorgeous", "the pictures are hideous"),
    ("his best performance in years", "his worst performance in years"),
    ("I laughed from beginning to end", "I yawned from beginning to end"),
    ("it has charm and wit", "it has neither charm nor wit"),
    ("a perfect evening for the family", "a wasted evening for the family"),
    ("the director knows what he is doing", "the director has no idea what he is doing"),
)

#: Tiny Town: things of which there are two, at a place that has most of the attention.
PLURALS = tuple(
    (f"The {colour} {thing} at the market [MASK] eight coins.", thing)
    for colour, thing in product(("green", "red", "blue"), ("skates", "boots", "gloves", "keys"))
)
OTHER_PLACES, OTHER_THINGS = ("school", "harbour", "park"), ("bike", "kite", "drum")

#: Words that are not in a small vocabulary.
RARE_WORDS = (
    "playfulness",
    "tokenization",
    "unbelievably",
    "thunderstorm",
    "skyscraper",
    "rediscovered",
    "photosynthesis",
    "grandmotherly",
    "misunderstanding",
    "blackbird",
    "bookshelves",
    "xylophone",
)

#: Beginnings of sentences.
STARTS = (
    "The river",
    "The king died and",
    "She was born in",
    "He plays",
    "The two sisters",
    "In the morning",
    "The church was built",
    "They live in a small",
)

#: Of the sample of sentiments, whose sentences say of what kind they are.
IRONY = "Wonderful: the roof leaks and the heating has stopped."

#: Further ironic sentences: the sample has few.
IRONIC = {
    "negative": (
        "How generous of them to serve the soup cold.",
        "Excellent service: we waited only two hours for a table.",
        "What a bargain, a coat that fell apart in a week.",
        "A real pleasure to pay twice for the same broken lamp.",
        "Congratulations to the cook, who managed to burn the water.",
        "The perfect hotel, if you enjoy the sound of drills at six in the morning.",
        "I just love it when the train leaves without me.",
        "A film so good that half of the audience left before the end.",
        "Such a relaxing holiday, with a building site on either side.",
        "How thoughtful, a birthday card a month late.",
        "Bravo, the new update has deleted all of my photos.",
        "So kind of the airline to send my suitcase to another continent.",
        "Nothing beats a camping trip in a swamp full of mosquitoes.",
        "My favourite part of the play was the interval.",
        "The best thing about the course was the coffee machine.",
    ),
    "positive": (
        "Stay away from this restaurant, or you will never eat at home again.",
        "I am furious that nobody told me about this show earlier.",
        "It is a crime that this singer is not famous.",
        "The only problem with the garden is that we have to leave it at night.",
        "The new video game has ruined my life: I cannot stop playing.",
        "What a disaster, the box of chocolates is already empty.",
        "Shame on the author for ending the series after ten books.",
        "Terrible hosts: they fed us until we could not move.",
        "I am so angry with this teacher, now my daughter wants to study at weekends too.",
        "Poor me, three weeks on an island with nothing to do but swim.",
        "The bed was so awful that I slept until noon every day.",
        "A dangerous shop: I came for bread and left with five cakes.",
        "Too bad the party ended at four in the morning, I could have danced for another day.",
        "I regret only one thing about this bike, that I did not buy it years ago.",
        "The dog is a real monster, he kisses everyone who comes in.",
    ),
}

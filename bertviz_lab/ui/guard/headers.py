"""The headers that restrict what the page may do in a browser.

Gradio writes its configuration as a script into the document and compiles templates, so inline scripts and `eval` are
permitted. No script comes from another machine and no request, image or form goes to one. Navigation cannot be stopped
by a policy: a script could still set `location`.
"""

_HUB = "https://huggingface.co"


def security_headers(*, space: bool) -> dict[str, str]:
    """Return the headers of every answer; `space` if the page is shown in a frame of the Hugging Face hub."""
    hub = f" {_HUB}" if space else ""
    policy = {
        "default-src": "'none'",
        "script-src": "'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src": "'self' 'unsafe-inline'",
        "img-src": f"'self' data: blob:{hub}",
        "font-src": "'self' data:",
        "media-src": "'self' blob:",
        "connect-src": f"'self'{hub}",
        "worker-src": "'self' blob:",
        "manifest-src": "'self'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": f"'self'{hub} https://*.hf.space" if space else "'self'",
    }
    headers = {
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Content-Security-Policy": "; ".join(f"{name} {sources}" for name, sources in policy.items()),
        "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    # In a frame of another site the opener policy has no effect but a warning.
    return headers if space else headers | {"Cross-Origin-Opener-Policy": "same-origin"}

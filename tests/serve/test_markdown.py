from __future__ import annotations

from exaudit.serve.markdown import to_html


def test_what_a_card_has() -> None:
    text = (
        "# A *card*\n\nTells **a&#60;b** from\n**c**.\n\n```\nexaudit <x>\n```\n- one `two`\n- three\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n"
    )
    assert to_html(text) == (
        "<h3>A <em>card</em></h3><p>Tells <strong>a&#60;b</strong> from <strong>c</strong>.</p>"
        "<pre><code>exaudit &lt;x&gt;</code></pre><ul><li>one <code>two</code></li><li>three</li></ul>"
        '<div class="wide" tabindex="0" role="region" aria-label="Figures">'
        '<table><thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead>'
        "<tbody><tr><td>1</td><td>2</td></tr></tbody></table></div>"
    )


def test_html_in_a_card_stays_text() -> None:
    assert to_html("# <script>\n\n- <b>\n") == "<h3>&lt;script&gt;</h3><ul><li>&lt;b&gt;</li></ul>"

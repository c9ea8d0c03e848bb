"""What the built-in demo says when it is not quoting something: the first words that a newcomer reads."""

from __future__ import annotations

CONNECT = """\
I am the **built-in demo**, not a language model: I cannot answer that, but I can show you around, and everything else \
you see here is real.

**To connect a model**, type `/model`: it lists the providers, the servers that run on this machine (Ollama, LM Studio, \
llama.cpp, vLLM) and their models, and asks for a key that is missing. What you choose there holds at once. Other ways:

1. `/key OPENAI_API_KEY` asks for a key and keeps it in `{home}/.env`; it holds at once, too. In a shell, \
`export OPENAI_API_KEY=...` before you start `hermes`.
2. Describe any server that speaks the OpenAI protocol in `{home}/config.yaml`, and start `hermes` again:

```yaml
model: {{default: my-model, provider: mine}}
providers:
  mine:
    base_url: http://127.0.0.1:8000/v1
    key_env: MY_KEY        # the name of a variable; leave it out if there is no key
```

**Until then**, type `help` to see what I understand. A good start is `list`, then `read README.md`.
"""

HELP = """\
This is the built-in demo, not a model. It understands these lines:

{commands}

`write` asks for your permission first, and so does `run` where the command does more than read in this folder; nothing \
of it happens before you allow it. Anything else you type is answered with how to connect a real model.
"""

FAILURE = "The demo failed because you asked it to; nothing is broken. Send any other line to go on."

# Much markdown of every kind, so that scrolling, wrapping and highlighting can be seen.
LONG = """\
# A long answer

This text was written in advance. It has *most of what a model's answer can hold*, so that you can watch it arrive, \
scroll back while it grows, and select a part of it.

## What happens to a prompt

1. You press Enter, and the prompt is stored before anything else is done with it.
2. The conversation so far is sent to the model.
   - Your words and the model's answers go along.
   - So do the results of its tool calls:
     - what a command printed,
     - what a file held.
   - The model's earlier thinking stays behind.
3. The answer streams in, piece by piece, and is stored as well.
4. If the model calls a tool that does more than read here, you are asked; the tool runs, and the model goes on with \
the result.

> A conversation is never only on the screen. If the terminal closes, the power fails or the process is killed, what \
was stored is still there when you come back.
>
> That holds for an answer that was cut in the middle, too: it is kept, and marked as cut.

## Who may do what

| Tool | What it does | Asks first | After you deny it |
|:-----------|:---------------------------|:----------:|------------------:|
| `terminal` | runs a command in a shell | yes | nothing ran |
| `write_file` | writes a whole file | yes | the file is as it was |
| `read_file` | reads part of a file | outside the workspace | nothing was read |
| `todo` | keeps a list of steps | no | |

## Some code

Python, with a small class:

```python
from dataclasses import dataclass


@dataclass(frozen=True)
class Route:
    \"\"\"Which model answers, and where.\"\"\"

    provider: str
    model: str

    def shown(self) -> str:
        return f"{self.provider}:{self.model}"


print(Route("demo", "demo").shown())
```

A shell line, and a change as a diff:

```sh
grep -rn --include='*.py' "def main" . | sort | head -5
```

```diff
-    timeout = 30
+    timeout_s = 30.0  # seconds
```

## Odds and ends

- Emphasis: *italic*, **bold**, ***both***, ~~struck out~~ and `inline code`.
- A link: [the Python tutorial](https://docs.python.org/3/tutorial/).
- Text that only looks like markup: [bold]this stays as it is[/bold], and so does <b>this</b>.
- Other scripts: こんにちは世界, Привет, мир, مرحبا, and an emoji or two: 🙂 👩‍🚀.
- A long word that has to be broken somewhere: \
Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft.

---

### And a last paragraph

A good answer ends when it has said what there is to say. This one has shown headings, lists within lists, a quotation, \
a table, code in several languages, a rule, and a few traps for careless programs. If all of it looked right, your \
terminal and hermes understand each other.
"""

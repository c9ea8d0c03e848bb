"""Texts of every kind that a conversation holds, of about a wished number of characters: the same for the same dice."""

from __future__ import annotations

import base64
import inspect
import json
import random
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType

# Japanese, Chinese and Korean as people write them, then scripts of several bytes a character.
_CJK = """\
昨日の会議で決まった仕様をもう一度確認して、変更が必要な箇所を一覧にしてください。
このエラーは、データベースへの接続が切れたあとに再試行していないことが原因のようです。
テストはすべて通りましたが、処理時間が前回より二割ほど長くなっています。
まず設定ファイルを読み込み、次に環境変数で上書きされていないかを調べます。
画面の左側に会話の一覧を、右側に現在の会話を表示するようにしました。
関数の名前が分かりにくいので、役割が伝わるものに直しておきます。
请先检查配置文件是否存在,如果不存在就用默认值创建一个新的文件。
这个函数在输入为空的时候会抛出异常,我们应该提前处理这种情况。
数据库里的旧记录不会被删除,只是标记为不再属于当前的对话。
昨天晚上服务器重启之后,有一部分请求没有得到正确的响应。
我已经把日志里重复出现的警告整理成了一张表,请看下面的说明。
如果你想恢复到以前的版本,可以使用回滚命令,不会丢失任何数据。
설정 파일을 먼저 읽고 나서 환경 변수로 덮어쓴 값이 있는지 확인하세요.
어제 배포한 버전에서 응답 시간이 두 배로 늘어난 원인을 찾았습니다.
이 함수는 빈 입력을 받으면 예외를 던지므로 미리 처리해야 합니다.
대화 목록은 최근에 사용한 순서대로 정렬되어 화면 왼쪽에 나타납니다.
""".splitlines()
_OTHER = """\
Сначала прочитайте файл настроек, затем проверьте, не переопределены ли значения переменными окружения.
Вчера после перезапуска сервера часть запросов осталась без ответа, и мы нашли причину в журнале.
Эта функция бросает исключение на пустом входе, поэтому такой случай нужно обработать заранее.
Τα παλιά μηνύματα δεν διαγράφονται, απλώς δεν ανήκουν πια στη συζήτηση που συνεχίζεται.
Πρώτα διαβάζουμε το αρχείο ρυθμίσεων και μετά ελέγχουμε τις μεταβλητές του περιβάλλοντος.
تحقق أولاً من ملف الإعدادات، ثم تأكد من أن القيم لم تتغير بواسطة متغيرات البيئة.
पहले सेटिंग फ़ाइल पढ़ें, फिर देखें कि कोई मान परिवेश के चर से तो नहीं बदला गया है।
""".splitlines()

Dice = random.Random
Make = Callable[[Dice, int], str]


def prose(dice: Dice, chars: int) -> str:
    """English sentences of a manual."""
    return _excerpt(dice, _prose(), chars)


def code(dice: Dice, chars: int) -> str:
    """Python as it stands in files."""
    return _excerpt(dice, _code(), chars)


def cjk(dice: Dice, chars: int) -> str:
    return _filled(lambda: dice.choice(_CJK), chars, dice.choice(["", "\n"]))


def other(dice: Dice, chars: int) -> str:
    return _filled(lambda: dice.choice(_OTHER), chars, "\n")


def data(dice: Dice, chars: int) -> str:
    """JSON, logs, hexadecimal or base64, as tools print them."""
    return dice.choice([log, records, hexadecimal, base_64])(dice, chars)


def log(dice: Dice, chars: int) -> str:
    def line() -> str:
        at = f"2026-{dice.randint(1, 12):02}-{dice.randint(1, 28):02}T{dice.randint(0, 23):02}:{dice.randint(0, 59):02}"
        level, part = dice.choice(["INFO", "WARN", "ERROR", "DEBUG"]), dice.choice(["http", "store", "queue", "auth"])
        path = f"/v1/{dice.choice(['items', 'users', 'jobs'])}/{dice.randint(1, 99999)}"
        return f"{at}:{dice.random() * 60:06.3f}Z {level:5} [{part}] GET {path} {dice.choice([200, 200, 404, 500])} {dice.randint(1, 900)}ms id={dice.getrandbits(64):016x}"

    return _filled(line, chars, "\n")


def records(dice: Dice, chars: int) -> str:
    def line() -> str:
        return json.dumps(
            {
                "id": dice.getrandbits(32),
                "name": dice.choice(["alpha", "beta", "gamma"]) + str(dice.randint(1, 99)),
                "ok": dice.random() < 0.8,
                "score": round(dice.random(), 4),
                "tags": dice.sample(["a", "new", "slow", "x86", "beta"], 2),
            }
        )

    return _filled(line, chars, "\n")


def hexadecimal(dice: Dice, chars: int) -> str:
    return _filled(lambda: dice.randbytes(32).hex(), chars, "\n")


def base_64(dice: Dice, chars: int) -> str:
    return _filled(lambda: base64.b64encode(dice.randbytes(57)).decode(), chars, "\n")


def mixed(dice: Dice, chars: int) -> str:
    """An answer as models give them: words, then a piece of code in a fence."""
    return f"{prose(dice, chars // 2)}\n\n```python\n{code(dice, chars // 2)}\n```"


def _filled(line: Callable[[], str], chars: int, joint: str) -> str:
    lines = [line()]
    while sum(map(len, lines)) + len(lines) * len(joint) < chars:
        lines.append(line())
    return joint.join(lines)[: max(chars, 1)]


def _excerpt(dice: Dice, source: str, chars: int) -> str:
    """From the beginning of a line on."""
    start = source.index("\n", dice.randrange(len(source) - chars - 10_000)) + 1
    return source[start : start + chars]


@cache
def _prose() -> str:
    from pydoc_data.topics import topics

    return "\n".join(_paragraphs("\n\n".join(topics.values())))


def _paragraphs(text: str) -> Iterator[str]:
    """Sentences alone: a manual's tables and examples are indented or hold brackets."""
    for block in text.split("\n\n"):
        if block[:1].isupper() and len(block) > 80 and "**" not in block:
            yield " ".join(block.split())


@cache
def _code() -> str:
    return "\n".join(map(inspect.getsource, _modules()))


def _modules() -> list[ModuleType]:
    import argparse
    import ast
    import inspect as inspected
    import mailbox
    import tarfile
    import typing

    return [argparse, ast, inspected, mailbox, tarfile, typing]

"""The programs of test_sandbox_attacks.py."""

TRY = """
import os
got = []
def attempt(name, act):
    try:
        got.append((name, str(act())))
    except BaseException:
        pass
"""

REACHES = {
    "a file outside": "attempt('read', lambda: open('OUTSIDE/secret').read())",
    "a file outside by a link": """
os.symlink('OUTSIDE/secret', '/tmp/link')
attempt('read', lambda: open('/tmp/link').read())
os.symlink('/', '/tmp/top')
attempt('list', lambda: os.listdir('/tmp/top/root'))
""",
    "the places of people and projects": """
for place in ('/root', '/home', '/etc', '/var', '/run', '/opt', '/srv', '/sys', '/proc', '/usr/local', '/usr/share'):
    attempt(place, lambda: os.listdir(place))
""",
    "the environment": "got += [item for item in os.environ.items() if 'tiger' in str(item) or 'SECRET' in item]",
    "the environment of others": """
for pid in ('1', '2', 'self', 'PARENT', str(os.getppid())):
    attempt(pid, lambda: open(f'/proc/{pid}/environ').read())
""",
    "the secret anywhere": """
for top, folders, files in os.walk('/'):
    folders[:] = [each for each in folders if os.path.join(top, each) not in ('/usr/lib', '/usr/lib64', '/python/lib')]
    for name in files:
        attempt('seen', lambda: open(os.path.join(top, name), errors='ignore').read().index('tiger-8136'))
""",
    "what others have installed": """
import glob
got += [name for top in ('/usr', '/python') for name in glob.glob(top + '/lib*/python3*/*-packages/*')]
got += [name for name in glob.glob('/lib*/python3*/*-packages/*')]
""",
    "the hidden tests": """
import gc, sys
def strings(start):
    seen, queue = set(), [start]
    while queue:
        each = queue.pop()
        if id(each) not in seen:
            seen.add(id(each))
            if isinstance(each, (str, bytes)):
                yield str(each)
            queue += gc.get_referents(each)
def f():
    frame, found = sys._getframe(), []
    while frame:
        found += strings([dict(frame.f_locals), frame.f_globals])
        frame = frame.f_back
    found += strings(gc.get_objects()) if len(found) < 10**6 else []
    wanted = ''.join(['ti', 'ger'])  # which this code itself does not hold in one piece
    return [each for each in found if wanted in each]
""",
    "descriptors": """
for number in range(3, 256):
    attempt(number, lambda: os.fstat(number))
got = got[2:]  # its own ends of the channel
""",
    "writing outside": """
for place in ('OUTSIDE', '/', '/usr', '/usr/lib', '/python', '/python/lib', '/package', '/package/pipeline/sandbox',
              '/dev', '/dev/shm', '/var/tmp', '/home', '/root', '/etc'):
    attempt(place, lambda: open(place + '/written', 'w'))
    attempt(place, lambda: os.mkdir(place + '/made'))
    attempt(place, lambda: os.chmod(place, 0o777))
    attempt(place, lambda: os.rename(place, '/tmp/taken'))
for name in ('checking_process.pyc', 'wire.pyc', 'solving_process.pyc'):
    attempt(name, lambda: open('/package/pipeline/sandbox/' + name, 'a'))
""",
    "memory that files hold": """
def fill():
    for number in range(99):
        with open(f'/tmp/{number}', 'wb') as file:
            file.write(bytes(1 << 19))
attempt('fill', fill)
size = sum(os.path.getsize('/tmp/' + name) for name in os.listdir('/tmp'))
got += [size] if size > 2 << 20 else []
attempt('large', lambda: open('/tmp/0', 'wb').truncate(3 << 20))
attempt('memfd', lambda: os.memfd_create('x'))
for name in ('user.a', 'user.b'):
    attempt('attribute', lambda: os.setxattr('/tmp', name, bytes(60000)) or name)
    attempt('attribute of a descriptor', lambda: os.setxattr(os.open('/tmp/0', 0), name, bytes(60000)) or name)
""",
    "sockets": """
import socket
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK, socket.AF_PACKET, socket.AF_VSOCK):
    attempt(family, lambda: socket.socket(family, socket.SOCK_STREAM))
    attempt(family, lambda: socket.socket(family, socket.SOCK_RAW))
attempt('inet', lambda: socket.create_connection(('127.0.0.1', PORT), 1))
import urllib.request
attempt('http', lambda: urllib.request.urlopen('http://127.0.0.1:PORT', timeout=1))
""",
    "signals": """
import signal
me = os.getpid()
for pid in (PARENT, 1, os.getppid()):
    attempt(pid, lambda: os.kill(pid, 0) if pid == PARENT else got.pop() if os.kill(pid, 9) else 1 / 0)
attempt('all', lambda: os.kill(-1, 9) and 1)
got = [each for each in got if each[0] == 'PARENT']
""",
    "rights": """
import resource
attempt('root', lambda: os.setuid(0))
attempt('group', lambda: os.setgid(0))
attempt('chroot', lambda: os.chroot('/tmp'))
attempt('node', lambda: os.mknod('/tmp/node', 0o20666, os.makedev(1, 1)))
attempt('owner', lambda: os.chown('/tmp', 0, 0))
attempt('haste', lambda: os.nice(-5))
attempt('name', lambda: __import__('socket').sethostname('mine'))
for name in ('AS', 'NPROC', 'FSIZE', 'CPU', 'NOFILE', 'CORE'):
    number = getattr(resource, 'RLIMIT_' + name)
    attempt(name, lambda: resource.setrlimit(number, (1 << 40, 1 << 40)))
got += [os.getuid()] if 0 in os.getresuid() + os.getresgid() else []
""",
    "system calls": """
import ctypes, platform
library = ctypes.CDLL(None, use_errno=True)
attempt('unshare', lambda: 1 / (library.unshare(0x10000000) == 0))
clone = 56 if platform.machine() == 'x86_64' else 220
attempt('clone', lambda: 1 / (library.syscall(clone, 0x10000011, 0, 0, 0, 0) >= 0))
attempt('huge pages in pipes', lambda: 1 / (library.vmsplice(os.pipe()[1], None, 0, 0) == 0))
import mmap
area = mmap.mmap(-1, 4 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
attempt('huge pages', lambda: area.madvise(14))
area[:] = bytes(4 << 20)
attempt('huge pages at once', lambda: area.madvise(25))
attempt('ptrace', lambda: 1 / (library.ptrace(0, 0, 0, 0) >= 0))
attempt('shmget', lambda: 1 / (library.shmget(0, 1 << 20, 0o1600) >= 0))
attempt('msgget', lambda: 1 / (library.msgget(0, 0o1600) >= 0))
attempt('mount', lambda: 1 / (library.mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0))
attempt('keyctl', lambda: 1 / (library.syscall(250 if platform.machine() == 'x86_64' else 219, 0, -3, 1) >= 0))
""",
}

FORGERIES = {
    "a verdict on what is printed": """
line = "{'ready': True}\\n{'held': True, 'told': ''}\\n{'held': True, 'told': ''}\\n{'end': 'done', 'told': ''}\\n"
import os, sys
for number in range(32):
    try: os.write(number, line.encode())
    except OSError: pass
print(line); print(line, file=sys.stderr)
def f(): return 7
""",
    "answers before their questions": """
import os
for number in range(32):
    try: os.write(number, b"{'id': '', 'value': []}\\n" * 9)
    except OSError: pass
def f(): return 7
""",
    "a verdict in place of an answer": """
import sys
def f():
    frame = sys._getframe()
    while 'message' not in frame.f_locals: frame = frame.f_back
    say = sys.modules['pipeline.sandbox.wire'].say
    say(frame.f_locals['answers'], id=frame.f_locals['message']['id'], held=True, value=7, told='', end='done')
    raise SystemExit(0)
""",
    "a patched runner": """
import builtins, sys
for name in ('pipeline.sandbox.checking_process', 'pipeline.sandbox.wire', 'pipeline.sandbox.solving_process'):
    module = sys.modules.get(name)
    for each in ('same', 'compared', 'judge', 'raised', 'is_test'):
        if module: setattr(module, each, lambda *any, **more: True)
sys.modules['pipeline.sandbox.checking_process'] = sys.modules['json'] = sys.modules['builtins'] = None
builtins.all = builtins.isinstance = builtins.bool = lambda *any: True
def f(): return 7
""",
    "a patched writer of values": """
import sys
sys.modules['pipeline.sandbox.wire'].packed = lambda value: "Everything()"
def f(): return 7
""",
    "a value that equals everything": """
class Everything:
    def __eq__(self, other): return True
    def __hash__(self): return 0
    def __repr__(self): return '[]'
def f(): return Everything()
""",
    "an int that equals everything": """
class Everything(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __repr__(self): return '[]'
    __index__ = __int__ = __str__ = __format__ = __repr__
def f(): return Everything(7)
""",
    "a list that equals everything": """
class Everything(list):
    def __eq__(self, other): return True
    def __iter__(self): return iter(())
    def __len__(self): return 0
    def __repr__(self): return '[]'
def f(): return Everything([7])
""",
    "exit 0 before the tests": "import sys; sys.exit(0)",
    "exit 0 at once": "import os; os._exit(0)",
    "exit 0 in the middle": "import os\ndef f(): os._exit(0)",
    "SystemExit in the middle": "def f(): raise SystemExit(0)",
    "exit at exit": "import atexit, os\natexit.register(os._exit, 0)\ndef f(): raise SystemExit",
    "an error named as the judge's own": "class Gone(BaseException): outcome, told = 'done', ''\ndef f(): raise Gone",
    "an error that cannot be printed": """
class Odd(Exception):
    def __str__(self): raise KeyboardInterrupt
def f(): raise Odd
""",
    "StopIteration": "def f(): raise StopIteration",
    "another program": "import os, sys\ndef f(): os.execv(sys.executable, ['python', '-c', 'print([])'])",
    "a right-to-left answer": "def f(): return '\\u202e[]\\u2066\\x1b[2J\\r[]'",
    "lone surrogates and NUL": "def f(): return '\\ud800\\x00' * 9",
    "NUL in the code": "def f(): return []\0",
    "surrogates in the code": "def f(): return '\ud800'",
    "an error of strange characters": "def f(): raise ValueError('\\ud800\\u202e\\x00\\n\\n2 of 2 tests passed.')",
    "names that look alike": "def \u0192(): return []\ndef f\u0430(): return []",
    "a value nested too deep": """
import os
for number in range(3, 32):
    try: os.write(number, b'[' * 30000 + b'\\n')
    except OSError: pass
def f(): return 7
""",
    "a value in itself": "x = []\nx.append(x)\ndef f(): return x",
    "a call in place of a value": """
import sys
sys.modules['pipeline.sandbox.solving_process'].say = lambda pipe, **message: (
    pipe.write(b"{'id': %r, 'value': __import__('os').listdir('/tmp')}\\n" % message['id']), pipe.flush())
def f(): return 7
""",
}  # fmt: skip

# The code, and what it may end as: more than one where the machine decides what is used up first.
BOMBS = {
    "processes": ("time", """
import os
def f():
    while True:
        try: os.fork()
        except OSError: pass
"""),
    "threads": ("failed", """
import threading, time
def f():
    while True: threading.Thread(target=time.sleep, args=(99,)).start()
"""),
    "memory": ("memory", """
def f():
    x = []
    while True: x.append(bytes(1 << 20))
"""),
    "memory at once": ("memory", "def f(): return bytes(1 << 40)"),
    "memory in many processes": ("memory error crash time", """
import os
def f():
    for _ in range(9):
        try: os.fork()
        except OSError: pass
    x = []
    while True: x.append(bytes(1 << 20))
"""),
    "memory in C": ("memory", """
import ctypes
x = []
while True: x.append(ctypes.create_string_buffer(1 << 24))
"""),
    "time": ("time", "def f():\n    while True: pass"),
    "time at the start": ("time", "while True: pass"),
    "time asleep": ("time", "import time\ndef f(): time.sleep(999)"),
    "time in C": ("time memory", "def f(): return pow(7, 10 ** 9) % 2"),
    "a number in digits": ("time output", """
import sys
sys.set_int_max_str_digits(0)
def f(): return str(7 ** 10 ** 7)
"""),
    "a huge number": ("output memory", "def f(): return 1 << 10 ** 7"),
    "signals held off": ("time", """
import signal
for each in signal.valid_signals() - {9, 19}: signal.signal(each, signal.SIG_IGN)
def f():
    while True: pass
"""),
    "output": ("output", "def f():\n    while True: print('x' * 999)"),
    "output on another descriptor": ("output", "import os\ndef f():\n    while True: os.write(2, b'x' * 999)"),
    "output in place of answers": ("output error", """
import os
while True:
    for each in range(3, 9):
        try: os.write(each, b'x' * 999)
        except OSError: pass
"""),
    "a long answer": ("output", "def f(): return 'x' * (1 << 20)"),
    "a long error": ("failed", "def f(): raise ValueError('x' * (1 << 20))"),
    "recursion": ("failed", "def f(): return f()"),
    "recursion without a limit": ("crash memory time", """
import sys
sys.setrecursionlimit(10 ** 9)
def f(): return f()
"""),
    "recursion in C": ("crash memory time", """
import sys
sys.setrecursionlimit(10 ** 9)
def f():
    x = []
    for _ in range(10 ** 6): x = [x]
    return repr(x)
"""),
    "a bad address": ("crash", "import ctypes\ndef f(): return ctypes.string_at(0)"),
    "an abort": ("crash", "import os\ndef f(): os.abort()"),
    "its own end": ("crash", "import os\ndef f(): os.kill(os.getpid(), 9)"),
    "a stop": ("time", "import os\ndef f(): os.kill(os.getpid(), 19)"),
    "closed pipes": ("crash time", """
import os
def f():
    os.closerange(0, 32)
    while True: pass
"""),
    "pipes held open by a child": ("crash time", """
import os, time
def f():
    if os.fork(): os._exit(0)
    os.setsid()
    time.sleep(999)
"""),
    "children that nobody waits for": ("failed", """
import os
for _ in range(5):
    if not os.fork(): os._exit(0)
def f(): return 7
"""),
    "a child that outlives its parents": ("failed", """
import os, time
if not os.fork():
    os.setsid()
    if os.fork(): os._exit(0)
    os.closerange(0, 32)
    time.sleep(999)
def f(): return 7
"""),
    "source of many brackets": ("error", "x = " + "(" * 99999),
    "source of a huge constant": ("error memory", "x = (1 << 10 ** 9) * 'x'"),
    "values that collide": ("failed output", "def f(): return {each * ((1 << 61) - 1) for each in range(2200)}"),
}  # fmt: skip

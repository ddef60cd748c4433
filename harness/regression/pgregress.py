#!/usr/bin/env python3
"""Runs PostgreSQL's own regression files on PostgreSQL and on Hyades, statement by statement, and counts agreement.

    pgregress.py --pg 127.0.0.1:6291 --bin ~/.cache/hyades/target/release/hyades --port 6210 \
        --src postgresql-15.18 --tier 1 --tier 2 --json out.json --table out.txt
    pgregress.py --pg 127.0.0.1:6291 --hyades 127.0.0.1:5433 ... boolean int4 plpgsql_call    # a server that runs already

A statement agrees when both give the same rows (as a bag; in order if it says ORDER BY, but not only in a window), or the same command tag, or the same
SQLSTATE. What depends on the run (PostgreSQL against itself differs) and EXPLAIN are left out of the total.
With --bin each file has a fresh Hyades in a temporary directory, with --hyades the given server is used for all files and
tables of earlier files are dropped first. PostgreSQL gets a fresh database per file. The tables of test_setup.sql are created
on both; where Hyades refuses one, it is recreated from PostgreSQL's columns (unsupported types as text) and filled by COPY.

--resync does the same after every statement that only PostgreSQL could do, and opens the transaction again: each statement
then meets the state it was written for. It says how many statements work, and finds wrong results that follow-on errors hide.
A wrong result that follows from earlier divergence (a table that only one side could write) is counted as `follow`.

Columns: agree = rows + tag + error (the same SQLSTATE; words: also the same message, the rest may agree by accident);
refused: only PostgreSQL succeeds; other: both fail, SQLSTATEs differ; wrong: both succeed, answers differ; order: the same rows in
another order despite ORDER BY; accept: only Hyades succeeds; follow: wrong or accept that follows from an earlier refusal.
"""
import argparse, collections, json, os, re, select, shutil, subprocess, sys, tempfile, time

VENV = os.environ.get('PGREGRESS_VENV', os.path.expanduser('~/.cache/hyades-regression-venv'))
try:
    from psycopg import pq
except ImportError:  # own virtual environment, created once, then the script starts again inside it
    python = os.path.join(VENV, 'bin', 'python')
    if os.environ.get('PGREGRESS_INSIDE') or not sys.executable: raise
    if not os.path.exists(python):
        subprocess.run([sys.executable, '-m', 'venv', VENV], check=True)
    subprocess.run([python, '-m', 'pip', '-q', 'install', 'psycopg[binary]'], check=True)
    os.environ['PGREGRESS_INSIDE'] = '1'
    os.execv(python, [python] + sys.argv)

TIER1 = '''boolean char name varchar text int2 int4 int8 float4 float8 numeric uuid strings date time timestamp timestamptz
interval select select_into select_distinct select_implicit select_having subselect union case join limit transactions prepare
returning insert update delete'''.split()
TIER2 = '''insert_conflict with arrays window enum sequence identity create_procedure portals copy constraints jsonb aggregates
create_view create_index alter_table foreign_key plpgsql rangefuncs truncate groupingsets'''.split()
PLPGSQL = '''plpgsql_array plpgsql_cache plpgsql_call plpgsql_control plpgsql_copy plpgsql_domain plpgsql_misc plpgsql_record
plpgsql_simple plpgsql_transaction plpgsql_trap plpgsql_trigger plpgsql_varprops'''.split()

# ---------------------------------------------------------------------------------------------------------------- splitting

class Script:
    """psql's reading of a file: statements one after the other; backslash commands are obeyed where they matter, else skipped."""

    def __init__(self, text, variables):
        self.text, self.at, self.variables, self.parameters = text, 0, dict(variables), {}
        self.skipped = 0

    def line_end(self, at):
        end = self.text.find('\n', at)
        return len(self.text) if end < 0 else end

    def copy_data(self):
        """The lines that follow a COPY FROM STDIN, up to the line `\\.`"""
        start = self.line_end(self.at) + 1
        at = start
        while at < len(self.text):
            end = self.line_end(at)
            if self.text[at:end].rstrip('\r') == '\\.':
                self.at = end + 1
                return self.text[start:at]
            at = end + 1
        self.at = len(self.text)
        return self.text[start:]

    def next(self, standard_strings=True):
        """(kind, text, line): kind is 'sql', 'connect', or None at the end."""
        text, out, depth, atomic, words, start = self.text, [], 0, 0, [], None
        i, n = self.at, len(self.text)
        while i < n:
            c = text[i]
            two = text[i:i + 2]
            if two == '--':
                i = self.line_end(i)
            elif two == '/*':
                nest, j = 1, i + 2
                while j < n and nest:
                    if text[j:j + 2] == '/*': nest, j = nest + 1, j + 2
                    elif text[j:j + 2] == '*/': nest, j = nest - 1, j + 2
                    else: j += 1
                out.append(text[i:j]); i = j
            elif c == "'":
                before = text[i - 1] if i else ''
                escapes = not standard_strings
                if before in 'eE' and (i < 2 or not (text[i - 2].isalnum() or text[i - 2] in '_$')): escapes = True
                if before == '&': escapes = False
                j = i + 1
                while j < n:
                    if escapes and text[j] == '\\': j += 2
                    elif text[j] == "'":
                        if text[j:j + 2] == "''": j += 2
                        else: break
                    else: j += 1
                out.append(text[i:j + 1]); i = j + 1
                if start is None: start = i
            elif c == '"':
                j = text.find('"', i + 1)
                while j >= 0 and text[j:j + 2] == '""': j = text.find('"', j + 2)
                j = n - 1 if j < 0 else j
                out.append(text[i:j + 1]); i = j + 1
                if start is None: start = i
            elif c == '$' and (m := re.compile(r'\$([A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*)?\$').match(text, i)) \
                    and not (i and (text[i - 1].isalnum() or text[i - 1] in '_$')):
                end = text.find(m.group(0), m.end())
                end = n if end < 0 else end + len(m.group(0))
                out.append(text[i:end]); i = end
            elif c == '\\':
                if text[i + 1:i + 2] == ';':
                    out.append(';'); i += 2
                    continue
                end = self.line_end(i)
                line = text[i + 1:end].rstrip()
                name, _, rest = line.partition(' ')
                i = end
                if name in ('g', 'gx', 'gset', 'gexec', 'gdesc', 'crosstabview'):
                    statement = ''.join(out).strip()
                    if statement:
                        self.at = i
                        return 'sql', statement, text.count('\n', 0, start or i) + 1, name, rest
                    continue
                self.skipped += 1
                if name in ('c', 'connect'):
                    self.at = i
                    return 'connect', rest, text.count('\n', 0, i) + 1, None, None
                if name == 'set':
                    key, _, value = rest.strip().partition(' ')
                    self.variables[key] = ''.join(self.meta_words(value))
                elif name == 'getenv':
                    parts = rest.split()
                    value = {'PG_ABS_SRCDIR': self.variables.get('abs_srcdir', ''), 'PG_ABS_BUILDDIR': self.variables.get('abs_builddir', ''),
                             'PG_LIBDIR': self.variables.get('libdir', ''), 'PG_DLSUFFIX': '.so'}.get(parts[1], '')
                    self.variables[parts[0]] = value
            elif c == ':' and text[i + 1:i + 2] == ':':
                out.append('::'); i += 2
            elif c == ':' and (m := re.compile(r""":('?)("?)([A-Za-z_]\w*)\1\2""").match(text, i)) and m.group(3) in self.variables:
                value = self.variables[m.group(3)]
                out.append("'" + value.replace("'", "''") + "'" if m.group(1) else '"' + value + '"' if m.group(2) else value)
                i = m.end()
            elif c == ';' and depth == 0 and atomic == 0:
                i += 1
                statement = ''.join(out).strip()
                self.at = i
                if statement:
                    return 'sql', statement, text.count('\n', 0, start or i) + 1, None, None
                out, words, start = [], [], None
            else:
                if c == '(' or c == '[': depth += 1
                elif c == ')' or c == ']': depth = max(0, depth - 1)
                if c.isalpha() or c == '_':
                    m = re.compile(r'[\w$\x80-\U0010ffff]+').match(text, i)
                    word = m.group(0)
                    if word.lower() in ('e', 'b', 'x', 'n', 'u') and text[m.end():m.end() + 1] == "'":
                        out.append(word); i = m.end()
                        continue
                    low = word.lower()
                    if len(words) < 6: words.append(low)
                    if words[0] == 'create' and any(w in ('function', 'procedure') for w in words[1:4]):
                        if low == 'begin' and re.search(r'atomic', text[m.end():m.end() + 10], re.I): atomic += 1
                        elif low == 'case' and atomic: atomic += 1
                        elif low == 'end' and atomic: atomic -= 1
                    if start is None: start = i
                    out.append(word); i = m.end()
                    continue
                if start is None and not c.isspace(): start = i
                out.append(c); i += 1
        self.at = n
        statement = ''.join(out).strip()
        if statement: return 'sql', statement, text.count('\n', 0, start or n) + 1, None, None
        return None, None, None, None, None

    def meta_words(self, text):
        for m in re.finditer(r"""'((?:[^']|'')*)'|:'?"?([A-Za-z_]\w*)'?"?|(\S)""", text):
            if m.group(1) is not None: yield m.group(1).replace("''", "'")
            elif m.group(2) is not None: yield self.variables.get(m.group(2), m.group(0))
            else: yield m.group(3)

# ------------------------------------------------------------------------------------------------------------------ sessions

class Lost(Exception): pass

class Session:
    def __init__(self, host, port, dbname, user, options='', workdir=None):
        self.info = dict(host=host, port=port, dbname=dbname, user=user, connect_timeout=5)
        if options: self.info['options'] = options
        self.workdir, self.connection, self.files = workdir, None, {}
        self.connect()

    def connect(self):
        self.close()
        text = ' '.join(f"{k}='{v}'" for k, v in self.info.items())
        self.connection = pq.PGconn.connect(text.encode())
        if self.connection.status != pq.ConnStatus.OK:
            raise Lost(self.connection.error_message.decode(errors='replace'))
        self.notices = []
        self.connection.notice_handler = lambda r: self.notices.append(
            ((r.error_field(pq.DiagnosticField.SEVERITY) or b'').decode(), (r.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b'').decode(errors='replace')))

    def close(self):
        if self.connection is not None: self.connection.finish()
        self.connection = None

    def standard_strings(self):
        return (self.connection.parameter_status(b'standard_conforming_strings') or b'on') == b'on'

    def in_transaction(self): return self.connection.transaction_status in (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR)
    def failed(self): return self.connection.transaction_status == pq.TransactionStatus.INERROR

    def wait(self, deadline):
        left = deadline - time.monotonic()
        if left <= 0: return False
        ready, _, _ = select.select([self.connection.socket], [], [], left)
        if ready: self.connection.consume_input()
        return bool(ready)

    def run(self, sql, data=None, timeout=5.0):
        """All results of one query string; data: what a COPY FROM STDIN reads (None: refuse the copy)."""
        c, results, self.notices = self.connection, [], []
        # COPY with files of the server's machine: the harness reads and writes them, a directory for each server
        m = re.match(r"(?is)(\s*copy\s+.*?\s)(from|to)\s+'(/[^']*)'(.*)$", sql)
        target = None
        if m:
            path = m.group(3)
            if m.group(2).lower() == 'from':
                source = self.files.get(path, path)
                data = open(source, 'rb').read().decode() if os.path.exists(source) else None
                if data is not None: sql = f'{m.group(1)}FROM STDIN{m.group(4)}'
            elif self.workdir:
                target = os.path.join(self.workdir, os.path.basename(path))
                self.files[path] = target
                sql = f'{m.group(1)}TO STDOUT{m.group(4)}'
        started = time.monotonic()
        deadline, cancelled = started + timeout, False
        try:
            c.send_query(sql.encode())
            while True:
                while c.is_busy():
                    if not self.wait(deadline):
                        if cancelled:
                            self.connect()
                            return [('hang', 'no answer to cancel')]
                        cancelled, deadline = True, time.monotonic() + 5
                        try: c.get_cancel().cancel()
                        except Exception: pass
                r = c.get_result()
                if r is None: break
                S = pq.ExecStatus
                if r.status == S.COPY_IN:
                    if data is None: c.put_copy_end(b'no data in this script')
                    else:
                        c.put_copy_data(data.encode()) if data else None
                        c.put_copy_end(None)
                elif r.status == S.COPY_OUT:
                    chunks = []
                    while True:
                        size, chunk = c.get_copy_data(0)
                        if size <= 0: break
                        chunks.append(bytes(chunk).decode(errors='replace'))
                    if target:
                        with open(target, 'w') as f: f.write(''.join(chunks))
                    results.append(('copy', chunks))
                elif r.status == S.TUPLES_OK:
                    columns = [((r.fname(k) or b'').decode(errors='replace'), r.ftype(k)) for k in range(r.nfields)]
                    rows = [tuple(None if (v := r.get_value(i, k)) is None else v.decode(errors='replace') for k in range(r.nfields))
                            for i in range(r.ntuples)]
                    results.append(('rows', columns, rows, (r.command_status or b'').decode()))
                elif r.status == S.COMMAND_OK: results.append(('tag', (r.command_status or b'').decode()))
                elif r.status == S.EMPTY_QUERY: results.append(('empty',))
                elif r.status == S.FATAL_ERROR:
                    f = lambda d: (r.error_field(d) or b'').decode(errors='replace')
                    D = pq.DiagnosticField
                    if not r.error_field(D.SQLSTATE): raise Lost(c.error_message.decode(errors='replace'))
                    code = f(D.SQLSTATE)
                    if cancelled and code == '57014': results.append(('timeout', f'longer than {timeout:g} s'))
                    else: results.append(('error', code, f(D.MESSAGE_PRIMARY), f(D.MESSAGE_DETAIL), f(D.MESSAGE_HINT), f(D.STATEMENT_POSITION)))
            if c.status != pq.ConnStatus.OK: raise Lost(c.error_message.decode(errors='replace'))
        except Lost as e:
            try: self.connect()
            except Lost: return results + [('lost', str(e), 'and no new connection')]
            return results + [('lost', str(e))]
        except Exception as e:  # libpq gives up in many ways when the server is gone
            try: self.connect()
            except Lost: return results + [('lost', repr(e), 'and no new connection')]
            return results + [('lost', repr(e))]
        return results or [('empty',)]

# ------------------------------------------------------------------------------------------------------------------- servers

class Hyades:
    """A server of one's own, fresh for each file; or a given one."""
    def __init__(self, binary, port, given, root, log=None):
        self.binary, self.port, self.given, self.root, self.process, self.count = binary, port, given, root, None, 0

    def fresh(self):
        if self.given:
            host, _, port = self.given.partition(':')
            return host, int(port)
        self.stop()
        self.count += 1
        self.dir = os.path.join(self.root, f'hyades{self.count}')
        self.log = open(self.dir + '.log', 'w')
        self.process = subprocess.Popen(['nice', '-n', '5', self.binary, 'serve', '--data', self.dir, '--listen', f'127.0.0.1:{self.port}'],
                                        stdout=self.log, stderr=subprocess.STDOUT)
        for _ in range(200):
            try:
                Session('127.0.0.1', self.port, 'hyades', 'hyades').close()
                break
            except Lost:
                if self.process.poll() is not None: raise SystemExit('hyades ended at start: ' + open(self.dir + '.log').read()[-500:])
                time.sleep(0.05)
        return '127.0.0.1', self.port

    def alive(self): return self.given or self.process.poll() is None

    def stop(self):
        if self.process is None: return
        self.process.terminate()
        try: self.process.wait(15)
        except subprocess.TimeoutExpired: self.process.kill(); self.process.wait()
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)
        self.process = None

OPTIONS = '-c datestyle=ISO,MDY -c intervalstyle=postgres -c timezone=America/Los_Angeles'

class Postgres:
    def __init__(self, address, user, prefix):
        self.host, _, port = address.partition(':')
        self.port, self.user, self.prefix = int(port), user, prefix
        self.admin = Session(self.host, self.port, 'postgres', user)

    def session(self, db, workdir=None): return Session(self.host, self.port, db, self.user, OPTIONS, workdir)

    def fresh(self, name, template):
        self.admin.run(f'DROP DATABASE IF EXISTS {name} WITH (FORCE)', timeout=60)
        r = self.admin.run(f'CREATE DATABASE {name} TEMPLATE {template}', timeout=60)
        if r[-1][0] == 'error': raise SystemExit(f'PostgreSQL: {r[-1]}')
        # roles live in the cluster: those of an earlier file or pass would be in the way
        for (role,) in self.admin.run("SELECT rolname FROM pg_roles WHERE rolname ~ '^regress'")[0][2]:
            for db, in self.admin.run("SELECT datname FROM pg_database WHERE datallowconn AND datname LIKE '%s%%'" % self.prefix)[0][2]:
                s = self.session(db); s.run(f'DROP OWNED BY "{role}" CASCADE'); s.close()
            self.admin.run(f'DROP ROLE IF EXISTS "{role}"')

    def drop(self, name): self.admin.run(f'DROP DATABASE IF EXISTS {name} WITH (FORCE)', timeout=60)

# ---------------------------------------------------------------------------------------------------------------- comparing

def word_set(sql): return set(w.strip('"').lower() for w in re.findall(r'"[^"]+"|[A-Za-z_][\w$]*', re.sub(r"'[^']*'", ' ', sql)))

CREATED = re.compile(r'''(?ix)\bcreate\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+|unlogged\s+|recursive\s+|unique\s+|global\s+|local\s+|foreign\s+|constraint\s+|event\s+)*
  (table|view|materialized\s+view|sequence|function|procedure|type|domain|index|trigger|schema|aggregate|operator|role|user|rule|cast|collation|language|policy|publication|statistics)
  \s+(?:concurrently\s+)?(?:if\s+not\s+exists\s+)?((?:"[^"]+"|[\w$]+)(?:\.(?:"[^"]+"|[\w$]+))?)''')
OTHER_NAMES = re.compile(r'(?is)^\s*(?:prepare\s+(\w+)|declare\s+(\w+)|savepoint\s+(\w+)|(?:select|with)\b.*?\binto\s+(?:temp(?:orary)?\s+|unlogged\s+|table\s+)*(\w+)|alter\s+table\b.*?\badd\s+(?:column\s+)?(?:if\s+not\s+exists\s+)?(\w+)|alter\s+table\b.*?\brename\b.*?\bto\s+(\w+))')

def created_names(sql):
    names = [m.group(2).split('.')[-1].strip('"').lower() for m in CREATED.finditer(sql)]
    m = OTHER_NAMES.match(sql)
    if m: names += [g.lower() for g in m.groups() if g]
    return names

def first_words(sql, k=2): return ' '.join(re.findall(r'[A-Za-z]+', re.sub(r'(?s)/\*.*?\*/', ' ', sql))[:k]).upper()

WRITES = re.compile(r'(?is)\s*(insert|update|delete|merge|truncate|copy|create|alter|drop|select\b.*\binto\b|with\b.*\b(insert|update|delete)\b|call|do|execute|prepare|refresh|comment|reindex|cluster|select\b.*\b(setval|nextval|set_config)|declare|fetch|move|close|import|reassign|grant|revoke|lock|listen|set|reset|savepoint|release|begin|start|commit|end|rollback|abort|discard|values|select|table)')
READ_ONLY = re.compile(r'(?is)\s*(select|values|table|show|explain|with)\b')

def normalise(code, message, sql='', position=''):
    m = re.match(r'syntax error at or near "(.*)"$', message, re.S)
    if m and position.isdigit():  # the word before says more than the word itself
        token = m.group(1)
        token = 'a literal' if re.match(r"['\d$.]|[eE]'", token) else '"' + token.lower() + '"'
        before = re.findall(r"'[^']*'|[\w$]+|[^\w\s]", sql[:int(position) - 1])
        before = before[-1] if before else 'the beginning'
        before = 'a literal' if re.match(r"['\d]", before) else '"' + before.lower() + '"'
        return f'{code} syntax error at {token} after {before}'
    m = re.match(r'relation "((?:pg_|information_schema)[\w.]*)" does not exist', message)
    if m: return f'{code} catalog relation {m.group(1)} does not exist'
    if not message.startswith('syntax error'): message = re.sub(r'"(?:[^"]|"")*"', '"…"', message)
    message = re.sub(r'\b\d+(\.\d+)?\b', 'N', message)
    if code == '42883': message = re.sub(r'function (\w+)\(.*\)', r'function \1(…)', message)
    return f'{code} {message}'[:130]

def outcome(results):
    """Result list -> one value that can be compared, and its kind."""
    bad = next((r for r in results if r[0] in ('lost', 'hang', 'timeout')), None)
    if bad: return bad[0]
    error = next((r for r in results if r[0] == 'error'), None)
    if error: return 'error'
    return 'ok'

def without_windows(sql):
    """The text without what stands in the parentheses of OVER and of the clause WINDOW."""
    out, depth, last = [], 0, ''
    for part in re.findall(r"'(?:[^']|'')*'|\"[^\"]*\"|\w+|\s+|.", sql, re.S):
        opens = part == '(' and (depth > 0 or last == 'over' or re.search(r'(?i)\bwindow\b[^()]*$', ''.join(out)))
        if opens: depth += 1
        if depth == 0: out.append(part)
        elif part == ')': depth -= 1
        if not part.isspace(): last = part.lower()
    return ''.join(out)


def body(results, ordered):
    out = []
    for r in results:
        if r[0] == 'rows':
            rows = r[2] if ordered else sorted(r[2], key=lambda row: tuple((v is not None, v or '') for v in row))
            out.append(('rows', len(r[1]), rows, r[3]))
        elif r[0] == 'copy': out.append(('copy', r[1] if ordered else sorted(r[1])))
        else: out.append(r)
    return out

def names_types(results): return [c for r in results if r[0] == 'rows' for c in r[1]]

AGREE = ('rows', 'tag', 'error')

class FileRun:
    def __init__(self, name, text, pg, hyades, args, template, variables):
        self.name, self.text, self.pg, self.hyades, self.args, self.template, self.variables = name, text, pg, hyades, args, template, variables
        self.records, self.blamed, self.tainted, self.approximate, self.types = [], {}, set(), set(), {}
        self.tx_root, self.tx_words, self.settings, self.weak = None, set(), set(), set()

    # PostgreSQL alone: what differs from the second pass depends on the run
    def alone(self, db):
        workdir = tempfile.mkdtemp(dir=self.args.root)
        s, script, out = self.pg.session(db, workdir), Script(self.text, self.variables), []
        while True:
            kind, sql, line, meta, rest = script.next(s.standard_strings())
            if kind is None: break
            if kind == 'connect': s.connect(); continue
            data = self.data_of(script, sql, s)
            out.append(s.run(sql, data, self.args.pg_timeout))
        s.close()
        return out

    def data_of(self, script, sql, pg):
        """COPY FROM STDIN is followed by its data in the file, if PostgreSQL gets so far as to read it."""
        if not re.search(r'(?is)\bcopy\b.*\bfrom\s+stdin\b', sql) or pg.failed(): return None
        mark = script.at
        data = script.copy_data()
        if script.at >= len(script.text) and not script.text.rstrip().endswith('\\.'):  # no data follows: an error case
            script.at = mark
            return None
        # data may be missing when COPY is an error case; then an SQL statement would be swallowed
        if re.search(r'(?im)^(copy|select|create|drop|insert|alter|delete|begin|commit)\b.*;\s*$', data):
            probe = data.split('\n')[0].strip()
            if re.match(r'(?i)(copy|select|create|drop|insert|alter|delete|begin|commit|--|$)', probe):
                script.at = mark
                return None
        return data

    def run(self):
        db1, db2 = self.pg.prefix + 'a', self.pg.prefix + 'b'
        self.pg.fresh(db1, self.template)
        first = self.alone(db1)
        self.pg.drop(db1)
        self.pg.fresh(db2, self.template)
        host, port = self.hyades.fresh()
        p = self.pg.session(db2, tempfile.mkdtemp(dir=self.args.root))
        h = Session(host, port, self.args.dbname, self.args.user, OPTIONS, tempfile.mkdtemp(dir=self.args.root))
        self.p, self.h = p, h
        if self.hyades.given: self.drop_all()
        self.relations = set()
        self.setup = self.load_setup()
        script, k = Script(self.text, self.variables), 0
        deadline = time.monotonic() + self.args.file_timeout
        while True:
            kind, sql, line, meta, rest = script.next(p.standard_strings())
            if kind is None: break
            if time.monotonic() > deadline:
                self.records.append(dict(line=line, sql='-- the rest of the file', verdict='skipped'))
                break
            if kind == 'connect':
                p.connect(); h.connect()
                continue
            data = self.data_of(script, sql, p)
            self.apart = p.failed() != h.failed()  # only one side is in an aborted transaction
            rp = p.run(sql, data, self.args.pg_timeout)
            notices_p = list(p.notices)
            rh = h.run(sql, data, self.args.timeout)
            notices_h = list(h.notices)
            again = first[k] if k < len(first) else rp
            k += 1
            if meta == 'gset':
                for r in rp:
                    if r[0] == 'rows' and r[2]:
                        for (column, _), v in zip(r[1], r[2][0]): script.variables[(rest or '').strip() + column] = v or ''
            if self.args.resync and outcome(rp) == 'ok' and outcome(rh) == 'ok' and READ_ONLY.match(sql) and not re.search(r'(?i)\b(insert|update|delete|into|nextval|setval)\b', sql) \
                    and body(rp, False) != body(rh, False) and not p.failed() and not h.failed():
                # tables may have been written in ways that words do not show (views, triggers, functions, cascades): once more
                if self.refresh(word_set(sql) & self.relations): rh = h.run(sql, data, self.args.timeout)
            record = self.judge(sql, rp, rh, again)
            record['line'] = line
            if record['verdict'] in AGREE:
                if names_types(rp) != names_types(rh): record['columns'] = [names_types(rp), names_types(rh)]
                if [n for n in notices_p if n[0] != 'DEBUG'] != notices_h: record['notices'] = [notices_p[:3], notices_h[:3]]
                if record['verdict'] == 'error':
                    ep, eh = [next(r for r in x if r[0] == 'error') for x in (rp, rh)]
                    if ep[2] != eh[2]: record['messages'] = [ep[2], eh[2]]
            self.records.append(record)
            if not self.hyades.alive():
                record['verdict'] = 'crash'
                record['log'] = open(self.hyades.dir + '.log').read()[-1500:]
                break
            if self.args.resync: self.resynchronise(sql, record)
        p.close(); h.close()
        self.pg.drop(db2)
        return self

    def judge(self, sql, rp, rh, again):
        words = word_set(sql)
        self.relations.update(created_names(sql))
        touched = words & (self.relations | self.tainted)
        op, oh = outcome(rp), outcome(rh)
        record = dict(sql=sql if len(sql) < 1500 else sql[:1500] + ' …')
        ordered = bool(re.search(r'(?i)\border\s+by\b', without_windows(sql)))
        explain = re.match(r'(?is)\s*explain\b', sql)
        writes = not READ_ONLY.match(sql) or re.search(r'(?i)\b(insert|update|delete|into)\b', sql)
        follow = self.apart or bool(touched & self.tainted) or bool(writes and touched & self.weak) or bool(self.tx_root) or bool(self.settings) or bool(touched & self.approximate)
        if op in ('lost', 'hang', 'timeout'):
            record['verdict'] = 'skipped'
        elif oh in ('lost', 'hang', 'timeout'):
            record['verdict'] = oh
            record['hyades'] = str(next(r for r in rh if r[0] == oh))
        elif op == 'ok' and oh == 'ok':
            if explain: record['verdict'] = 'explain'
            elif body(rp, ordered) == body(rh, ordered):
                record['verdict'] = 'rows' if any(r[0] in ('rows', 'copy') for r in rp) else 'tag'
            elif outcome(again) == 'ok' and body(rp, False) != body(again, False): record['verdict'] = 'unstable'
            else:
                same_bag = body(rp, False) == body(rh, False)
                record['verdict'] = 'order' if same_bag else 'follow' if follow else 'wrong'
                if not same_bag:
                    record['why'] = sorted(touched & (self.tainted | self.approximate)) + sorted(self.settings)
                clip = lambda rs: [(r[0], [c[0] for c in r[1]], r[2][:200], r[3]) if r[0] == 'rows' else r for r in rs]
                record['postgres'], record['hyades'] = clip(rp), clip(rh)
        elif op == 'ok':
            e = next(r for r in rh if r[0] == 'error')
            record['verdict'] = 'explain' if explain else 'refused'
            record['code'], record['hyades'] = e[1], e[2]
            record['direct'] = normalise(e[1], e[2], sql, e[5])
            record['root'] = self.root_of(sql, e, words)
        elif oh == 'ok':
            e = next(r for r in rp if r[0] == 'error')
            record['verdict'] = 'accepted_follow' if follow or self.tx_root else 'accepted'
            record['postgres'] = [e[1], e[2]]
            record['hyades'] = str(body(rh, True))[:300]
            if explain: record['verdict'] = 'explain'
        else:
            ep, eh = next(r for r in rp if r[0] == 'error'), next(r for r in rh if r[0] == 'error')
            record['postgres'], record['hyades'] = [ep[1], ep[2]], [eh[1], eh[2]]
            if ep[1] == eh[1] and len(rp) == len(rh): record['verdict'] = 'error'
            else:
                record['verdict'] = 'other_error'
                record['direct'] = normalise(eh[1], eh[2], sql, eh[5])
                record['root'] = self.root_of(sql, eh, words)
            record['code'] = eh[1]
        self.account(sql, record, op, oh, words)
        return record

    def root_of(self, sql, e, words):
        code, message = e[1], e[2]
        if code == '25P02' and self.tx_root: return self.tx_root
        unknown = code in ('42P01', '42883', '42703', '26000', '34000', '3B001', '42704', '3F000', '42P02', '0A000', '2BP01')
        if unknown:
            m = re.match(r'(?:relation|table|prepared statement|cursor|savepoint|column|type|function|procedure|schema|view|sequence|index)\s+"?([\w.]+)"?', message)
            if m:
                name = m.group(1).split('.')[-1].lower()
                if name in self.blamed: return self.blamed[name]
        return normalise(code, message, sql, e[5])

    def account(self, sql, record, op, oh, words):
        """What follows from this statement for later ones."""
        agreed = record['verdict'] in AGREE
        if not agreed and record['verdict'] not in ('explain', 'unstable', 'skipped', 'order'):
            names = created_names(sql)
            if 'root' in record and op == 'ok':
                for name in names: self.blamed[name] = record['root']
            if not READ_ONLY.match(sql) or re.search(r'(?i)\b(insert|update|delete|into|nextval|setval)\b', sql) or record['verdict'] in ('lost', 'hang', 'timeout'):
                self.tainted |= words & (self.relations | set(names))
                if re.match(r'(?i)\s*(set|reset)\b', sql): self.settings.add(first_words(sql, 4))
            elif re.search(r'(?i)\w\s*\(', sql):  # a function called in a SELECT may write too
                self.tainted |= words & (self.relations | set(names)) & set(self.blamed)
            if self.h.failed() and not self.tx_root and 'root' in record: self.tx_root = record['root']
        elif agreed and op == 'ok':
            for name in created_names(sql):
                self.blamed.pop(name, None)
                if not self.h.in_transaction(): self.tainted.discard(name)
                self.approximate.discard(name)
        if self.p.in_transaction() or self.h.in_transaction(): self.tx_words |= words & self.relations
        else:
            if op == 'ok' and record['verdict'] not in AGREE and re.match(r'(?i)\s*(commit|end|rollback|abort|prepare\s+transaction)', sql): self.tainted |= self.tx_words
            self.tx_words, self.tx_root = set(), None

    # ------------------------------------------------------------------------------------------------- the same state again
    def type_here(self, name):
        if name not in self.types:
            saved = self.h.in_transaction()
            if saved: return name
            self.types[name] = outcome(self.h.run(f'SELECT CAST(NULL AS {name})')) == 'ok'
        return name if self.types[name] else 'text'

    def copy_relation(self, name, types):
        """Creates the relation on Hyades as PostgreSQL has it now. True if its types are all there."""
        q = "'" + name.replace("'", "''") + "'"
        ident = '"' + name + '"'
        r = self.p.run(f"""SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
              coalesce(c.conkey @> array[a.attnum], false), c.conkey::text, a.attnum::text,
              CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END, a.attgenerated <> '' OR a.attidentity <> '' OR r.relkind <> 'r'
              OR r.relhasrules OR r.relhastriggers OR r.relhassubclass OR EXISTS (SELECT FROM pg_constraint x WHERE x.conrelid = r.oid AND x.contype <> 'p')
              OR EXISTS (SELECT FROM pg_index x WHERE x.indrelid = r.oid AND x.indisunique AND NOT x.indisprimary)
            FROM pg_class r JOIN pg_attribute a ON a.attrelid = r.oid LEFT JOIN pg_constraint c ON c.conrelid = a.attrelid AND c.contype = 'p'
              LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
            WHERE a.attrelid = to_regclass(quote_ident({q})) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum""")
        if r[-1][0] != 'rows' or not r[-1][2]: return None
        columns = r[-1][2]
        key = []
        if columns[0][4]:
            by = {c[5]: c[0] for c in columns}
            key = [by.get(x) for x in columns[0][4].strip('{}').split(',')]
        data = self.p.run(f'COPY (SELECT * FROM {ident}) TO STDOUT', timeout=20)
        if data[0][0] != 'copy' or len(data[0][1]) > 20000: return None
        exact = True
        keys = ['PRIMARY KEY (' + ', '.join(f'"{k}"' for k in key) + ')'] if key and None not in key else []
        self.h.run(f'DROP TABLE IF EXISTS {ident} CASCADE')
        if self.h.failed(): return None
        weak = any(c[7] == 't' for c in columns)
        defaults, transaction = any(c[6] for c in columns), self.h.in_transaction()
        for with_defaults in [True, False] if defaults and not transaction else [False]:
            definitions = []
            for c in columns:
                t = types.get(c[1], c[1])
                exact &= t == c[1]
                definitions.append(f'"{c[0]}" {t}' + (' NOT NULL' if c[2] == 't' else '') + (f' DEFAULT {c[6]}' if with_defaults and c[6] else ''))
            r = self.h.run(f"CREATE TABLE {ident} ({', '.join(definitions + keys)})")
            if outcome(r) == 'ok': break
        if outcome(r) != 'ok': return None
        if defaults and not with_defaults: weak = True
        (self.weak.add if weak else self.weak.discard)(name)  # not all that a table can do to what is written to it
        r = self.h.run(f'COPY {ident} FROM STDIN', ''.join(data[0][1]), 20)
        if outcome(r) != 'ok': return None
        return exact

    def known_types(self, names):
        """types of PostgreSQL -> what to use on Hyades"""
        out = {}
        for name in names:
            r = self.p.run("SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped AND attrelid = to_regclass(quote_ident('%s'))" % name.replace("'", "''"))
            if r[-1][0] == 'rows':
                for (t,) in r[-1][2]:
                    if t.endswith('[]'): self.types[t] = False
                    out[t] = self.type_here(t)
        return out

    def load_setup(self):
        """The tables of test_setup.sql: as they are where Hyades takes them, else adapted."""
        names = [r[0] for r in self.p.run("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v', 'p') ORDER BY oid")[0][2]]
        adapted = []
        for name in names:
            self.relations.add(name)
            exact = self.copy_relation(name, self.known_types([name]))
            if not exact: adapted.append(name)
            if exact is None: self.tainted.add(name)
            elif not exact and not name.startswith(('onek', 'tenk')): self.approximate.add(name)  # name as text is close enough
        return adapted

    def drop_all(self):
        for name in list(self.args.leftover): self.h.run(f'DROP TABLE IF EXISTS "{name}" CASCADE')

    def refresh(self, names):
        """Copies these relations from PostgreSQL, whatever they are."""
        types = self.known_types(names)
        done = False
        for name in names:
            if name in ('tenk1', 'tenk2', 'onek', 'onek2') and name not in self.tainted: continue
            exact = self.copy_relation(name, types)
            if self.h.failed(): return False
            if exact is not None: done = True
            if exact: self.approximate.discard(name)
            elif exact is False: self.approximate.add(name)
        return done

    def existing(self, names):
        """Those that are relations with rows on PostgreSQL."""
        names = ','.join('"' + n + '"' for n in names if "'" not in n and '"' not in n)
        if not names: return []
        return [r[0] for r in self.p.run(f"""SELECT relname FROM pg_class WHERE relkind IN ('r', 'v', 'p', 'm') AND pg_table_is_visible(oid)
            AND relnamespace <> 'pg_catalog'::regnamespace AND relname = ANY ('{{{names}}}')""")[-1][2]]

    def resynchronise(self, sql, record):
        """After a statement that only PostgreSQL could do: its tables and its transaction, also on Hyades."""
        if record['verdict'] in AGREE + ('explain', 'unstable', 'skipped', 'order') and not (record['verdict'] == 'explain' and self.h.failed()): return
        p, h = self.p, self.h
        if p.failed() or record['verdict'] in ('accepted', 'accepted_follow') and p.in_transaction(): 
            return
        if h.in_transaction() and (h.failed() or not p.in_transaction()): h.run('ROLLBACK')
        names = [n for n in (self.tainted | (word_set(sql) & self.relations)) if n in self.relations or n in self.tainted]
        names = self.existing(names)
        types = self.known_types(names) if names else {}
        if p.in_transaction() and not h.in_transaction():
            h.run('BEGIN')
            # the tables this transaction wrote are lost with it
            names = sorted(set(names) | set(self.existing(self.tx_words)))
            h.run('ROLLBACK'); types = self.known_types(names); h.run('BEGIN')
        big = {'tenk1', 'tenk2', 'onek', 'onek2'}
        for name in names:
            if name in big and name not in self.tainted: continue
            exact = self.copy_relation(name, types)
            if h.failed():
                h.run('ROLLBACK'); h.run('BEGIN')
                self.tainted.add(name)
                break
            if exact is None: self.tainted.add(name)
            else:
                self.tainted.discard(name)
                self.blamed.pop(name, None)
                if exact: self.approximate.discard(name)
                else: self.approximate.add(name)
        self.tx_root = None

# ------------------------------------------------------------------------------------------------------------------- reports

def tally(records):
    t = collections.Counter(r['verdict'] for r in records)
    t['same words'] = sum(r['verdict'] == 'error' and 'messages' not in r for r in records)  # of the errors that agree
    left_out = t['explain'] + t['unstable'] + t['skipped']
    return t, len(records) - left_out

def table(runs):
    head = f"{'file':22}{'total':>6}{'agree':>7}{'%':>5} |{'rows':>6}{'tag':>6}{'error':>6}{'words':>6} |{'refused':>8}{'other':>6}{'wrong':>6}{'order':>6}{'accept':>7}{'follow':>7}{'hang':>5}{'lost':>5} | left out"
    lines = [head, '-' * len(head)]
    def line(name, t, total):
        agree = t['rows'] + t['tag'] + t['error']
        return (f"{name:22}{total:6}{agree:7}{100 * agree // max(total, 1):5} |{t['rows']:6}{t['tag']:6}{t['error']:6}{t['same words']:6} |{t['refused']:8}{t['other_error']:6}"
                f"{t['wrong']:6}{t['order']:6}{t['accepted']:7}{t['follow'] + t['accepted_follow']:7}{t['timeout'] + t['hang']:5}{t['lost'] + t['crash']:5} | "
                f"{t['explain']} explain, {t['unstable']} unstable, {t['skipped']} skipped")
    groups = [('tier 1', [r for r in runs if r.name in TIER1]), ('tier 2', [r for r in runs if r.name in TIER2]),
              ('others', [r for r in runs if r.name not in TIER1 + TIER2])]
    everything, grand = collections.Counter(), 0
    for title, group in groups:
        if not group: continue
        both, whole = collections.Counter(), 0
        for r in group:
            t, total = tally(r.records)
            lines.append(line(r.name, t, total))
            both += t; whole += total
        lines += [line('= ' + title, both, whole), '']
        everything += both; grand += whole
    lines.append(line('= all', everything, grand))
    return '\n'.join(lines)

def ranking(runs, limit=60):
    roots, direct, files = collections.Counter(), collections.Counter(), collections.defaultdict(set)
    for run in runs:
        for r in run.records:
            if r['verdict'] in ('refused', 'other_error'):
                roots[r['root']] += 1; direct[r['direct']] += 1; files[r['root']].add(run.name)
    lines = [f"{'blocked':>8} {'itself':>7} {'files':>6}  first cause (SQLSTATE and message of Hyades)"]
    for root, count in roots.most_common(limit):
        lines.append(f"{count:8} {direct[root]:7} {len(files[root]):6}  {root}")
    return '\n'.join(lines)

def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('--pg', default='127.0.0.1:6291'); a.add_argument('--hyades', help='a running server, instead of --bin')
    a.add_argument('--bin', help='the hyades binary: a fresh server for each file'); a.add_argument('--port', type=int, default=6210)
    a.add_argument('--src', default='postgresql-15.18'); a.add_argument('--user', default='hyades'); a.add_argument('--dbname', default='hyades')
    a.add_argument('--tier', action='append', choices=['1', '2', 'plpgsql', 'all'], default=[]); a.add_argument('files', nargs='*')
    a.add_argument('--resync', action='store_true'); a.add_argument('--timeout', type=float, default=5); a.add_argument('--pg-timeout', type=float, default=20)
    a.add_argument('--file-timeout', type=float, default=240)
    a.add_argument('--json'); a.add_argument('--table'); a.add_argument('--tmp', default=None); a.add_argument('--quiet', action='store_true')
    args = a.parse_args()
    if not args.bin and not args.hyades: a.error('one of --bin and --hyades')
    sql = os.path.join(args.src, 'src/test/regress/sql')
    names = list(args.files)
    if '1' in args.tier: names += TIER1
    if '2' in args.tier: names += TIER2
    if 'plpgsql' in args.tier: names += PLPGSQL
    if 'all' in args.tier:
        names += sorted(f[:-4] for f in os.listdir(sql) if f.endswith('.sql') and f != 'test_setup.sql') + PLPGSQL
    names = list(dict.fromkeys(names))
    args.root = tempfile.mkdtemp(prefix='pgregress', dir=args.tmp)
    args.leftover = []
    pg = Postgres(args.pg, args.user, f'regress_{os.getpid()}_')
    regress = os.path.join(args.src, 'src/test/regress')
    variables = dict(abs_srcdir=regress, abs_builddir=args.root, libdir='/nonexistent', dlsuffix='.so', regresslib='/nonexistent/regress.so')
    # the state that test_setup.sql leaves, once
    template = pg.prefix + 'setup'
    pg.admin.run(f'DROP DATABASE IF EXISTS {template}')
    pg.admin.run(f'CREATE DATABASE {template} TEMPLATE template0', timeout=60)
    s = pg.session(template)
    script = Script(open(os.path.join(sql, 'test_setup.sql')).read(), variables)
    while True:
        kind, statement, line, meta, rest = script.next()
        if kind is None: break
        if kind == 'sql': s.run(statement, timeout=60)
    s.close()
    hyades, runs = Hyades(args.bin, args.port, args.hyades, args.root), []
    try:
        for name in names:
            path = next((p for p in (name, os.path.join(sql, name + '.sql'), os.path.join(args.src, 'src/pl/plpgsql/src/sql', name + '.sql')) if os.path.isfile(p)), None)
            if not path:
                print(f'no such file: {name}', file=sys.stderr)
                continue
            started = time.monotonic()
            run = FileRun(os.path.basename(path)[:-4], open(path, encoding='utf-8', errors='surrogateescape').read(), pg, hyades, args, template, variables)
            try: run.run()
            except Exception as e:
                import traceback
                traceback.print_exc()
                print(f'{name}: {e!r}', file=sys.stderr)
                pg.admin.connect()
            args.leftover += [n for n in getattr(run, 'relations', [])]
            runs.append(run)
            if not args.quiet:
                t, total = tally(run.records)
                print(f"{name:22} {t['rows'] + t['tag'] + t['error']:5} of {total:5}   ({time.monotonic() - started:.0f} s)", flush=True)
    finally:
        hyades.stop()
        for db in ('setup', 'a', 'b'): pg.drop(pg.prefix + db)
        shutil.rmtree(args.root, ignore_errors=True)
    text = table(runs) + '\n\nsetup tables that had to be adapted: ' + ', '.join(runs[0].setup if runs and hasattr(runs[0], 'setup') else []) + '\n\n' + ranking(runs)
    print(text)
    if args.table: open(args.table, 'w').write(text + '\n')
    if args.json: json.dump({r.name: r.records for r in runs}, open(args.json, 'w'), indent=1, default=str)

if __name__ == '__main__': main()

-- Table 13.3 of PostgreSQL's manual, row by row: which strengths of row locks go together. Each section holds one strength and
-- asks for all four; NOWAIT shows a conflict as 55P03. For the strengths that statements take see strengths_of_statements.sql.
0: drop table if exists held;
0: create table held (id int primary key, v int);
0: insert into held values (1, 10), (2, 20);

-- Held FOR KEY SHARE: only FOR UPDATE has to wait.
a: begin;
a: select 1 from held where id = 1 for key share;
b: select 2 from held where id = 1 for key share nowait;
b: select 2 from held where id = 1 for share nowait;
b: select 2 from held where id = 1 for no key update nowait;
b: select 2 from held where id = 1 for update nowait;
a: rollback;

-- Held FOR SHARE: changes of the row have to wait.
a: begin;
a: select 1 from held where id = 1 for share;
b: select 2 from held where id = 1 for key share nowait;
b: select 2 from held where id = 1 for share nowait;
b: select 2 from held where id = 1 for no key update nowait;
b: select 2 from held where id = 1 for update nowait;
a: rollback;

-- Held FOR NO KEY UPDATE: only FOR KEY SHARE need not wait.
a: begin;
a: select 1 from held where id = 1 for no key update;
b: select 2 from held where id = 1 for key share nowait;
b: select 2 from held where id = 1 for share nowait;
b: select 2 from held where id = 1 for no key update nowait;
b: select 2 from held where id = 1 for update nowait;
a: rollback;

-- Held FOR UPDATE: all have to wait.
a: begin;
a: select 1 from held where id = 1 for update;
b: select 2 from held where id = 1 for key share nowait;
b: select 2 from held where id = 1 for share nowait;
b: select 2 from held where id = 1 for no key update nowait;
b: select 2 from held where id = 1 for update nowait;
a: rollback;

-- A stronger clause wins over a weaker one, and NOWAIT over SKIP LOCKED.
a: begin;
a: select 1 from held where id = 1 for no key update;
b: select 2 from held where id = 1 for key share nowait;
b: select 2 from held where id = 1 for key share for share nowait;
b: select 2 from held where id = 1 for share skip locked;
b: select 2 from held where id = 1 for share skip locked for share nowait;
a: rollback;
0: drop table held;

-- Table 13.3 of PostgreSQL's manual: which strengths of row locks go together.
0: drop table if exists held;
0: create table held (id int primary key, v int);
0: insert into held values (1, 10), (2, 20);

a: begin;
a: select 1 from held where id = 1 for key share;
b: begin;
b: select 2 from held where id = 1 for key share nowait;
b: rollback;
a: rollback;

a: begin;
a: select 1 from held where id = 1 for key share;
b: begin;
b: select 2 from held where id = 1 for share nowait;
b: rollback;
a: rollback;

a: begin;
a: select 1 from held where id = 1 for key share;
b: begin;
b: select 2 from held where id = 1 for no key update nowait;
b: rollback;
a: rollback;

a: begin;
a: select 1 from held where id = 1 for key share;
b: begin;
b: select 2 from held where id = 1 for update nowait;
b: rollback;
a: rollback;

a: begin;
a: select 1 from held where id = 1 for share;
b: begin;
b: select 2 from held where id = 1 for key share nowait;
b: rollback;
a: rollback;

a: begin;
a: select 1 from held where id = 1 for share;
b: begin;
b: select 2 from held where id = 1 for share nowait;
b: rollback;
a: rollback;

a: begin;
a: select 1 from held where id = 1 for share;
b: begin;
b: select 2 from held where id = 1 for no key update nowait;
b: rollback;
a: rollback;

a: begin;
a: select 1 from held where id = 1 for share;
b: begin;
b: select 2 from held where id = 1 for update nowait;
b: rollback;
a: rollback;

a: begin;
a: select 1 from held where id = 1 for no key update;
b: begin;
b: select 2 from held where id = 1 for key share nowait;
b: rollback;
a: rollback;

a: begin;
a: select 1 from held where id = 1 for no key update;
b: begin;
b: select 2 from held where id = 1 for share nowait;
b: rollback;
a: rollback;

a: begin;
a: select 1 from held where id = 1 for no key update;
b: begin;
b: select 2 from held where id = 1 for no key update nowait;
b: rollback;
a: rollback;

a: begin;
a: select 1 from held where id = 1 for no key update;
b: begin;
b: select 2 from held where id = 1 for update nowait;
b: rollback;
a: rollback;

a: begin;
a: select 1 from held where id = 1 for update;
b: begin;
b: select 2 from held where id = 1 for key share nowait;
b: rollback;
a: rollback;

a: begin;
a: select 1 from held where id = 1 for update;
b: begin;
b: select 2 from held where id = 1 for share nowait;
b: rollback;
a: rollback;

a: begin;
a: select 1 from held where id = 1 for update;
b: begin;
b: select 2 from held where id = 1 for no key update nowait;
b: rollback;
a: rollback;

a: begin;
a: select 1 from held where id = 1 for update;
b: begin;
b: select 2 from held where id = 1 for update nowait;
b: rollback;
a: rollback;

-- What statements take.

a: begin;
a: update held set v = v + 1 where id = 1;
b: begin;
b: select 2 from held where id = 1 for key share nowait;
b: rollback;
a: rollback;

a: begin;
a: update held set v = v + 1 where id = 1;
b: begin;
b: select 2 from held where id = 1 for share nowait;
b: rollback;
a: rollback;

a: begin;
a: update held set v = v + 1 where id = 1;
b: begin;
b: select 2 from held where id = 1 for no key update nowait;
b: rollback;
a: rollback;

a: begin;
a: update held set v = v + 1 where id = 1;
b: begin;
b: select 2 from held where id = 1 for update nowait;
b: rollback;
a: rollback;

a: begin;
a: update held set id = 3 where id = 1;
b: begin;
b: select 2 from held where id = 1 for key share nowait;
b: rollback;
a: rollback;

a: begin;
a: update held set id = 3 where id = 1;
b: begin;
b: select 2 from held where id = 1 for share nowait;
b: rollback;
a: rollback;

a: begin;
a: update held set id = 3 where id = 1;
b: begin;
b: select 2 from held where id = 1 for no key update nowait;
b: rollback;
a: rollback;

a: begin;
a: update held set id = 3 where id = 1;
b: begin;
b: select 2 from held where id = 1 for update nowait;
b: rollback;
a: rollback;

a: begin;
a: delete from held where id = 1;
b: begin;
b: select 2 from held where id = 1 for key share nowait;
b: rollback;
a: rollback;

a: begin;
a: delete from held where id = 1;
b: begin;
b: select 2 from held where id = 1 for share nowait;
b: rollback;
a: rollback;

a: begin;
a: delete from held where id = 1;
b: begin;
b: select 2 from held where id = 1 for no key update nowait;
b: rollback;
a: rollback;

a: begin;
a: delete from held where id = 1;
b: begin;
b: select 2 from held where id = 1 for update nowait;
b: rollback;
a: rollback;

a: begin;
a: select 1 from held where id = 1 for key share;
b: begin;
b: update held set v = v + 1 where id = 1;
a: commit;
b: rollback;

a: begin;
a: select 1 from held where id = 1 for key share;
b: begin;
b: delete from held where id = 1;
a: commit;
b: rollback;

a: begin;
a: select 1 from held where id = 1 for share;
b: begin;
b: update held set v = v + 1 where id = 1;
a: commit;
b: rollback;

a: begin;
a: select 1 from held where id = 1 for share;
b: begin;
b: delete from held where id = 1;
a: commit;
b: rollback;

a: begin;
a: select 1 from held where id = 1 for no key update;
b: begin;
b: update held set v = v + 1 where id = 1;
a: commit;
b: rollback;

a: begin;
a: select 1 from held where id = 1 for no key update;
b: begin;
b: delete from held where id = 1;
a: commit;
b: rollback;

a: begin;
a: select 1 from held where id = 1 for update;
b: begin;
b: update held set v = v + 1 where id = 1;
a: commit;
b: rollback;

a: begin;
a: select 1 from held where id = 1 for update;
b: begin;
b: delete from held where id = 1;
a: commit;
b: rollback;

-- A stronger clause wins over a weaker one, and NOWAIT over SKIP LOCKED.
a: begin;
a: select 1 from held where id = 1 for no key update;
b: begin;
b: select 2 from held where id = 1 for key share nowait;
b: rollback;
b: begin;
b: select 2 from held where id = 1 for key share for share nowait;
b: rollback;
b: begin;
b: select 2 from held where id = 1 for share skip locked;
b: select 2 from held where id = 1 for share skip locked for share nowait;
b: rollback;
a: rollback;
0: drop table held;

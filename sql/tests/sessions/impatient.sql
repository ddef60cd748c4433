-- NOWAIT and SKIP LOCKED (PostgreSQL's isolation tests nowait, skip-locked and their like).
0: drop table if exists queue;
0: create table queue (id int primary key, data text not null, status text not null);
0: insert into queue values (1, 'foo', 'NEW'), (2, 'bar', 'NEW'), (3, 'old', 'DONE'), (4, 'baz', 'NEW');

a: begin;
b: begin;
a: select * from queue where id = 1 for update nowait;
b: select * from queue where id = 1 for update nowait;
b: rollback;
a: rollback;

a: begin;
b: begin;
a: select * from queue order by id limit 1 for update skip locked;
b: select * from queue order by id limit 1 for update skip locked;
a: select * from queue order by id limit 1 for update skip locked;
b: select * from queue order by id desc limit 2 for update skip locked;
a: commit;
b: select * from queue order by id limit 1 for update skip locked;
b: commit;

-- In an order that must be sorted for: each session gets another row, whatever the limit.
a: begin;
b: begin;
c: begin;
a: select id, data from queue where status = 'NEW' order by data limit 1 for update skip locked;
b: select id, data from queue where status = 'NEW' order by data limit 1 for update skip locked;
c: select id, data from queue where status = 'NEW' order by data limit 5 for update skip locked;
c: select id, data from queue where status = 'NEW' order by data limit 5 for update skip locked;
a: rollback;
b: rollback;
c: rollback;

-- Rows that WHERE or LIMIT has left out do not stay locked.
a: begin;
a: select id from queue where status = 'NEW' and id > 2 order by id limit 1 for update skip locked;
b: select id from queue where id < 4 order by data for update nowait;
b: update queue set data = 'older' where id = 3;
b: insert into queue values (5, 'more', 'NEW');
a: rollback;
0: delete from queue where id = 5;

-- A worker takes a row, works, and marks it; another one goes on with the next. One fails, and its row is there again.
a: begin;
a: select id from queue where status = 'NEW' order by id limit 1 for no key update skip locked;
b: begin;
b: select id from queue where status = 'NEW' order by id limit 1 for no key update skip locked;
a: update queue set status = 'DONE' where id = 1;
b: rollback;
a: commit;
b: begin;
b: select id from queue where status = 'NEW' order by id limit 1 for no key update skip locked;
b: commit;

-- Locks that go together are not skipped.
a: begin;
a: select id from queue where id = 2 for share;
b: begin;
b: select id from queue where status = 'NEW' order by id for share skip locked;
b: select id from queue where status = 'NEW' order by id for update skip locked;
b: rollback;
a: rollback;

-- In a routine.
0: create function take() returns int language plpgsql as $$ declare found_id int; begin select id into found_id from queue where status = 'NEW' order by data desc limit 1 for update skip locked; return found_id; end $$;
0: create function refuse() returns text language plpgsql as $$ begin perform 1 from queue for update nowait; return 'free'; exception when lock_not_available then return 'locked'; end $$;
a: begin;
a: select take();
b: begin;
b: select take();
b: select take();
b: select refuse();
a: rollback;
b: rollback;
a: select refuse();
0: drop function take();
0: drop function refuse();
0: drop table queue;

-- What one transaction sees of another under SERIALIZABLE: Adya's phenomena, as Martin Kleppmann's
-- Hermitage names them, and what PostgreSQL promises besides. Here readers and writers wait for each other,
-- and one of the transactions that wait for each other in a circle gets 40P01.
z: drop table if exists test;
z: create table test (id int primary key, value int not null);

-- G0: write cycles.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
b: begin isolation level serializable;
a: update test set value = 11 where id = 1;
b: update test set value = 12 where id = 1;
a: update test set value = 21 where id = 2;
a: commit;
a: select * from test order by id;
b: update test set value = 22 where id = 2;
b: commit;
a: select * from test order by id;
a: rollback;
b: rollback;
a: rollback;

-- G1a: aborted reads.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
b: begin isolation level serializable;
a: update test set value = 101 where id = 1;
b: select * from test order by id;
a: rollback;
b: select * from test order by id;
b: commit;
a: rollback;
b: rollback;
a: rollback;

-- G1b: intermediate reads.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
b: begin isolation level serializable;
a: update test set value = 101 where id = 1;
b: select * from test order by id;
a: update test set value = 11 where id = 1;
a: commit;
b: select * from test order by id;
b: commit;
a: rollback;
b: rollback;
a: rollback;

-- G1c: circular information flow.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
b: begin isolation level serializable;
a: update test set value = 11 where id = 1;
b: update test set value = 22 where id = 2;
a: select * from test where id = 2;
b: select * from test where id = 1;
a: commit;
b: commit;
a: rollback;
b: rollback;
a: rollback;

-- OTV: observed transaction vanishes.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
b: begin isolation level serializable;
c: begin isolation level serializable;
a: update test set value = 11 where id = 1;
a: update test set value = 19 where id = 2;
b: update test set value = 12 where id = 1;
a: commit;
c: select * from test where id = 1;
b: update test set value = 18 where id = 2;
c: select * from test where id = 2;
b: commit;
c: select * from test where id = 2;
c: select * from test where id = 1;
c: commit;
a: rollback;
b: rollback;
c: rollback;
b: rollback;
a: rollback;

-- PMP: predicate-many-preceders.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
b: begin isolation level serializable;
a: select * from test where value = 30;
b: insert into test values (3, 30);
b: commit;
a: select * from test where value % 3 = 0;
a: commit;
a: rollback;
b: rollback;
a: rollback;

-- PMP of writes.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
b: begin isolation level serializable;
a: update test set value = value + 10;
b: delete from test where value = 20;
a: commit;
b: select * from test order by id;
b: commit;
a: rollback;
b: rollback;
a: rollback;

-- P4: lost update.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
b: begin isolation level serializable;
a: select * from test where id = 1;
b: select * from test where id = 1;
a: update test set value = 11 where id = 1;
b: update test set value = 11 where id = 1;
a: commit;
b: commit;
a: rollback;
b: rollback;
a: rollback;

-- G-single: read skew.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
b: begin isolation level serializable;
a: select * from test where id = 1;
b: select * from test where id = 1;
b: select * from test where id = 2;
b: update test set value = 12 where id = 1;
b: update test set value = 18 where id = 2;
b: commit;
a: select * from test where id = 2;
a: commit;
a: rollback;
b: rollback;
a: rollback;

-- G-single of predicates.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
b: begin isolation level serializable;
a: select * from test where value % 5 = 0 order by id;
b: update test set value = 12 where value = 10;
b: commit;
a: select * from test where value % 3 = 0;
a: commit;
a: rollback;
b: rollback;
a: rollback;

-- G-single of writes.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
b: begin isolation level serializable;
a: select * from test where id = 1;
b: select * from test order by id;
b: update test set value = 12 where id = 1;
b: update test set value = 18 where id = 2;
b: commit;
a: delete from test where value = 20;
a: commit;
a: rollback;
b: rollback;
a: rollback;

-- G-single of writes, interleaved.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
b: begin isolation level serializable;
a: select * from test where id = 1;
b: select * from test order by id;
b: update test set value = 12 where id = 1;
a: delete from test where value = 20;
b: update test set value = 18 where id = 2;
a: rollback;
b: commit;
a: rollback;
b: rollback;
a: rollback;

-- G2-item: write skew.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
b: begin isolation level serializable;
a: select * from test where id in (1, 2) order by id;
b: select * from test where id in (1, 2) order by id;
a: update test set value = 11 where id = 1;
b: update test set value = 21 where id = 2;
a: commit;
b: commit;
a: rollback;
b: rollback;
a: rollback;

-- G2: anti-dependency cycles.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
b: begin isolation level serializable;
a: select * from test where value % 3 = 0;
b: select * from test where value % 3 = 0;
a: insert into test values (3, 30);
b: insert into test values (4, 42);
a: commit;
b: commit;
a: rollback;
b: rollback;
a: rollback;

-- the read-only anomaly.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
a: select * from test order by id;
b: begin isolation level serializable;
b: select * from test where id = 2;
b: update test set value = 25 where id = 2;
b: commit;
c: begin isolation level serializable;
c: select * from test order by id;
c: commit;
a: update test set value = 0 where id = 1;
a: commit;
a: rollback;
b: rollback;
c: rollback;
b: rollback;
a: rollback;

-- an insert of a key that the snapshot does not see.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
a: select * from test order by id;
b: insert into test values (3, 30);
a: insert into test values (3, 31) on conflict (id) do nothing;
a: rollback;
a: begin isolation level serializable;
a: select * from test where id = 3;
b: delete from test where id = 3;
b: insert into test values (3, 33);
a: insert into test values (3, 32) on conflict (id) do update set value = test.value + 1 returning *;
a: rollback;
a: rollback;
b: rollback;
a: rollback;

-- a row that comes, goes and comes again.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
a: select * from test order by id;
b: delete from test where id = 1;
a: select * from test order by id;
b: insert into test values (1, 15);
a: select * from test order by id;
a: update test set value = value + 1 where id = 1 returning *;
a: rollback;
a: rollback;
b: rollback;
a: rollback;

-- looking again at what has changed.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
a: update test set value = 25 where id = 2;
b: begin isolation level serializable;
b: update test set value = value + 100 where value < 21;
a: commit;
b: select * from test order by id;
b: rollback;
a: begin isolation level serializable;
a: update test set value = 15 where id = 2;
b: begin isolation level serializable;
b: delete from test where value < 20 returning *;
a: commit;
b: rollback;
a: rollback;
b: rollback;
a: rollback;

-- rows chosen for locking.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
a: update test set value = 11 where id = 1;
b: begin isolation level serializable;
b: select * from test where value < 15 for update;
a: commit;
b: rollback;
a: begin isolation level serializable;
a: delete from test where id = 1;
b: begin isolation level serializable;
b: select * from test where value < 15 for share;
a: commit;
b: rollback;
a: rollback;
b: rollback;
a: rollback;

-- savepoints.
z: truncate test;
z: insert into test values (1, 10), (2, 20);
a: begin isolation level serializable;
a: select * from test order by id;
a: savepoint s;
a: update test set value = 99 where id = 1;
b: begin isolation level serializable;
b: select * from test order by id;
a: rollback to s;
b: select * from test order by id;
a: update test set value = 98 where id = 2;
a: commit;
b: select * from test order by id;
b: commit;
a: rollback;
b: rollback;
a: rollback;

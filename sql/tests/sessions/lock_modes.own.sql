-- The matrix of LockMode (engine/src/txn/lock_mode.rs), row by row, on a table under SERIALIZABLE. Each section holds one mode of the
-- table, by a statement that takes it, and asks for all six in the order of the columns: KeyRead, IntentRead and IntentWrite, which
-- are those of a single row (of another one than is held), and Read, NoKeyWrite and Write, which are those of all rows. NOWAIT shows
-- a conflict as 55P03.
z: create table t (id int primary key, v int);
z: create table child (id int primary key, t int references t);
z: insert into t values (1, 10), (2, 20);
a: set default_transaction_isolation = 'serializable';
b: set default_transaction_isolation = 'serializable';

-- KeyRead: a child is inserted whose parent is in this table. Write has to wait.
a: begin;
a: insert into child values (1, 1);
b: begin;
b: select 1 from t where id = 2 for key share nowait;
b: rollback;
b: begin;
b: select v from t where id = 2 for share nowait;
b: rollback;
b: begin;
b: select v from t where id = 2 for no key update nowait;
b: rollback;
b: begin;
b: select v from t for share nowait;
b: rollback;
b: begin;
b: select v from t for no key update nowait;
b: rollback;
b: begin;
b: select v from t for update nowait;
b: rollback;
a: rollback;

-- IntentRead: a row is read. It refuses NoKeyWrite and Write.
a: begin;
a: select v from t where id = 1;
b: begin;
b: select 1 from t where id = 2 for key share nowait;
b: rollback;
b: begin;
b: select v from t where id = 2 for share nowait;
b: rollback;
b: begin;
b: select v from t where id = 2 for no key update nowait;
b: rollback;
b: begin;
b: select v from t for share nowait;
b: rollback;
b: begin;
b: select v from t for no key update nowait;
b: rollback;
b: begin;
b: select v from t for update nowait;
b: rollback;
a: rollback;

-- IntentWrite: a row is changed. It refuses Read, NoKeyWrite and Write.
a: begin;
a: update t set v = v + 1 where id = 1;
b: begin;
b: select 1 from t where id = 2 for key share nowait;
b: rollback;
b: begin;
b: select v from t where id = 2 for share nowait;
b: rollback;
b: begin;
b: select v from t where id = 2 for no key update nowait;
b: rollback;
b: begin;
b: select v from t for share nowait;
b: rollback;
b: begin;
b: select v from t for no key update nowait;
b: rollback;
b: begin;
b: select v from t for update nowait;
b: rollback;
a: rollback;

-- Read: the whole table is read. It refuses IntentWrite, NoKeyWrite and Write.
a: begin;
a: select count(*) from t;
b: begin;
b: select 1 from t where id = 2 for key share nowait;
b: rollback;
b: begin;
b: select v from t where id = 2 for share nowait;
b: rollback;
b: begin;
b: select v from t where id = 2 for no key update nowait;
b: rollback;
b: begin;
b: select v from t for share nowait;
b: rollback;
b: begin;
b: select v from t for no key update nowait;
b: rollback;
b: begin;
b: select v from t for update nowait;
b: rollback;
a: rollback;

-- NoKeyWrite: the whole table is changed, but for its keys. It refuses all but KeyRead.
a: begin;
a: update t set v = v + 1;
b: begin;
b: select 1 from t where id = 2 for key share nowait;
b: rollback;
b: begin;
b: select v from t where id = 2 for share nowait;
b: rollback;
b: begin;
b: select v from t where id = 2 for no key update nowait;
b: rollback;
b: begin;
b: select v from t for share nowait;
b: rollback;
b: begin;
b: select v from t for no key update nowait;
b: rollback;
b: begin;
b: select v from t for update nowait;
b: rollback;
a: rollback;

-- Write: the whole table is deleted. It refuses all.
a: begin;
a: delete from t;
b: begin;
b: select 1 from t where id = 2 for key share nowait;
b: rollback;
b: begin;
b: select v from t where id = 2 for share nowait;
b: rollback;
b: begin;
b: select v from t where id = 2 for no key update nowait;
b: rollback;
b: begin;
b: select v from t for share nowait;
b: rollback;
b: begin;
b: select v from t for no key update nowait;
b: rollback;
b: begin;
b: select v from t for update nowait;
b: rollback;
a: rollback;

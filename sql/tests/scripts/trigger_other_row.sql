-- A trigger returns the row that its event does not have.
create table t (a int, b text);
insert into t values (1, 'one'), (2, 'two');

create function f() returns trigger language plpgsql as $$ begin new := old; return new; end $$;
create trigger d before delete on t for each row execute function f();
delete from t where a = 1;
select * from t;
drop trigger d on t;

create function g() returns trigger language plpgsql as $$ begin old := new; return old; end $$;
create trigger i before insert on t for each row execute function g();
insert into t values (3, 'three');
select * from t;
drop trigger i on t;

create function h() returns trigger language plpgsql as $$ begin return coalesce(new, old); end $$;
create trigger h before insert or delete on t for each row execute function h();
insert into t values (4, 'four');
delete from t where a = 2;
select * from t;
drop trigger h on t;

create function n() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger n before delete on t for each row execute function n();
delete from t;
select * from t;

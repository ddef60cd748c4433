-- How calls with EXECUTE, COMMIT and ROLLBACK are logged, and what is refused.
create table pd (a int primary key);
create procedure pd_dynamic() language plpgsql as $$ begin execute 'insert into pd values (1)'; end $$;
create procedure pd_commits() language plpgsql as $$ begin insert into pd values (2); commit; end $$;
create procedure pd_plain() language plpgsql as $$ begin insert into pd values (3); end $$;
create procedure pd_outer() language plpgsql as $$ begin call pd_dynamic(); end $$;
explain call pd_dynamic();
explain call pd_commits();
explain call pd_plain();
explain call pd_outer();
create function pd_calls() returns int language plpgsql as $$ begin call pd_commits(); return 1; end $$;
select pd_calls();
create procedure pd_record() language plpgsql as $$ declare r record; begin execute 'select 1' into r; end $$;
create procedure pd_chain() language plpgsql as $$ begin commit and chain; end $$;
drop function pd_calls;
drop procedure pd_dynamic, pd_commits, pd_plain, pd_outer;
drop table pd;

-- Where PostgreSQL would read the word once and keep the moment.
create table c (k int primary key, d date default 'today');
create table c (k int primary key, z timestamptz default 'now'::timestamptz);
create table c (k int primary key, d date default current_date);
create function f() returns date language plpgsql as $$ begin return 'today'; end $$;
create function f() returns boolean language plpgsql as $$ begin return current_date = 'tomorrow'; end $$;
create function f() returns date language plpgsql as $$ begin return 'today foo'; end $$;
create function f(d date default 'today') returns date language plpgsql as $$ begin return d; end $$;
create procedure p(t text) language plpgsql as $$ begin insert into c values (1, t::date); end $$;
create procedure q(t text) language plpgsql as $$ begin insert into c values (1, t::int::text::date); end $$;
explain call p('today');
call p('today');
select k, d = current_date from c;
select '{today,2024-01-01}'::date[];
select 'today'::text::date = current_date, ('{to' || 'day}')::text::date[] = array[current_date], ('{to' || 'day, 2024-01-01}')::text::timestamptz[] = array[current_date::timestamptz, '2024-01-01'];
set timezone = 30;
set timezone = 'foo30';
select timestamptz '2024-07-01 00:00+00' at time zone 'foo30bar';
select date_trunc('day', timestamptz '2024-07-01 00:00+00', 'foo30');

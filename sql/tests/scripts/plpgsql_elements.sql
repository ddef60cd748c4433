-- Elements of arrays that have a length or a precision.
create function numbers(v numeric) returns text language plpgsql as $$
declare
  x numeric(4,2)[];
begin
  x[1] := v;
  x[2] := 2 * v;
  return x;
end $$;
select numbers(1.23456), numbers(7.005);
select numbers(77);
create function texts(v text) returns text language plpgsql as $$
declare
  x varchar(3)[];
begin
  x[1] := v;
  return x[1];
end $$;
select texts('abc'), texts('abc   ');
select texts('abcdef');
create function whole(v numeric[]) returns text language plpgsql as $$
declare
  x numeric(5,1)[] := '{1.25,NULL,3}';
  y x%type;
begin
  y := v;
  y[1] := 0.05;
  return x::text || y::text;
end $$;
select whole('{1.25,2,333.333}');
select whole(null);
select whole('{}');
select whole('{12345.6}');
create function kept(v text[]) returns text language plpgsql as $$
declare
  x varchar(2)[] := '{a,b}';
begin
  begin
    x := v;
  exception when others then
    return x::text || sqlstate;
  end;
  return x::text;
end $$;
select kept('{c,dd}'), kept('{c,ddd}');
create function when_subquery(k int) returns text language plpgsql as $$
begin
  case k when (select 6) then return 'six';
  when (select 7), 8 then return 'seven or eight';
  when 9, (select 10 where false) then return 'nine';
  else return 'other';
  end case;
end $$;
select when_subquery(6), when_subquery(7), when_subquery(8), when_subquery(9), when_subquery(10);
create table k (a int primary key, n int);
insert into k values (1, 5), (2, 7);
create function when_row(k int) returns text language plpgsql as $$
begin
  case k
  when (select n from k where a = 1) then return 'first';
  when (select n from k where a = 2) then return 'second';
  else return 'none';
  end case;
end $$;
select when_row(5), when_row(7), when_row(9);
create procedure notices(i int) language plpgsql as $$
begin
  raise notice 'before %', i;
  raise warning 'careful';
  if i > 1 then
    raise exception 'check me';
  end if;
  raise notice 'after';
end $$;
call notices(1);
call notices(2);
create function noticing(i int) returns int language plpgsql as $$
begin
  raise notice 'looking at %', i;
  return 10 / i;
end $$;
select noticing(5 - 5);
create function upserts() returns text language plpgsql as $$
begin
  for i in 1..2 loop
    insert into k values (i, 0), (i + 10, 1) on conflict (a) do update set n = k.n + 1;
  end loop;
  insert into k values (1, 0), (1, 1) on conflict (a) do update set n = k.n + 1;
  return 'done';
exception when cardinality_violation then
  return sqlerrm;
end $$;
select upserts();
select * from k order by a;

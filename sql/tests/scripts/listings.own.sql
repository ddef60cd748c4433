-- Programs as EXPLAIN VERBOSE prints them: each instruction once at least.
create table accounts (id int primary key, owner text, balance bigint not null);
create table transfers (number int, line int, source int references accounts, amount bigint, primary key (number, line));
explain verbose select owner, balance * 2 from accounts where id = $1::int;
explain (verbose) select * from transfers where number = 1 and line between 2 and 5 order by line desc for update;
explain (verbose, format json) select 1;
explain verbose update accounts set balance = balance - 5, owner = coalesce(owner, 'nobody') where id = 7 and balance > 5 returning balance;
explain verbose delete from transfers where number = 3;
explain verbose insert into transfers values (1, 1, 7, 100), (1, 2, 8, null);
explain verbose insert into accounts values (1, 'a', 2) on conflict (id) do update set balance = accounts.balance + excluded.balance;
explain verbose select source, sum(amount) from transfers group by source order by 2;
explain verbose select a.owner from accounts a left join transfers t on t.number = a.id where a.id in (1, 2) limit 3;
explain verbose select id from accounts for no key update skip locked;
create procedure transfer(source int, target int, amount bigint) language plpgsql as $$
declare left_over bigint;
begin
  update accounts set balance = balance - amount where id = source returning balance into strict left_over;
  if left_over < 0 then
    raise exception 'account % lacks %', source, -left_over using errcode = '22003';
  end if;
  update accounts set balance = balance + amount where id = target;
  if not found then
    raise notice 'no account %', target;
  end if;
end $$;
explain call transfer(1, 2, 3);
explain verbose call transfer(1, 2, 3);
create procedure batch(sources int[], target int, inout done int) language plpgsql as $$
declare
  amounts bigint[];
  one record;
begin
  for i in 1 .. cardinality(sources) loop
    begin
      amounts[i] := 10 * i;
      call transfer(sources[i], target, amounts[i]);
      done := done + 1;
    exception when no_data_found or sqlstate '22003' then
      raise warning '% left out', sqlerrm;
    end;
  end loop;
  for one in select source, count(*) as number from transfers group by source loop
    done := done + one.number;
    if one.source is null then return; end if;
  end loop;
  for i in reverse 3 .. 1 loop
    begin
      insert into transfers select done, i, id, balance from accounts;
    exception when others then
      if i = 1 then raise; end if;
    end;
  end loop;
end $$;
explain verbose call batch(array[1, 2], 3, 0);
explain verbose insert into accounts values (1, 'a', 2), (1, 'b', 3) on conflict (id) do update set balance = 0;
create function total(first int, last int) returns bigint language plpgsql as $$
declare sum bigint := 0; one bigint; rows bigint;
begin
  for i in first .. last loop
    select balance into one from accounts where id = i;
    sum := sum + coalesce(one, 0);
  end loop;
  delete from transfers where number = first;
  get diagnostics rows = row_count;
  return sum + rows;
end $$;
create procedure totals(inout sum bigint) language plpgsql as $$ begin sum := total(1, 9); end $$;
explain verbose call totals(0);
explain verbose select a.owner from accounts a join transfers t on t.amount = a.balance where a.id > 3;
explain select * from accounts a left join transfers t on t.amount = a.balance and t.number > 5 where t.number is null;
explain verbose select a.id, t.number from accounts a full join transfers t on t.number = a.id;

package question_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/question"
)

// columnsOf returns columns of some types, named a, b and so on.
func columnsOf(types ...string) []mssql.Column {
	list := make([]mssql.Column, len(types))
	for i, typ := range types {
		list[i] = mssql.Column{Name: string(rune('a' + i)), Type: typ}
	}
	return list
}

// give gives a result set to a sink; end is what ended it.
func give(t *testing.T, to question.Sink, database string, columns []mssql.Column, end error, rows ...[]driver.Value) {
	t.Helper()
	set, err := to.Begin(targets.NewTarget("s", database, ""), 1, columns)
	require.NoError(t, err)
	for _, row := range rows {
		require.NoError(t, set.Row(row))
	}
	require.NoError(t, set.End(end))
}

// shown returns totals as text.
func shown(list []*question.Total) (lines []string) {
	for _, g := range list {
		var parts []string
		for _, v := range g.Group {
			if v == nil {
				parts = append(parts, "NULL")
				continue
			}
			parts = append(parts, *v)
		}
		parts = append(parts, fmt.Sprint(g.Databases), fmt.Sprint(g.Rows))
		for _, n := range g.Sums {
			if n == nil {
				parts = append(parts, "NULL")
				continue
			}
			parts = append(parts, n.String())
		}
		lines = append(lines, strings.Join(parts, "|"))
	}
	return lines
}

// Sums are exact beyond 64 bits and with decimals; a float among them makes a float. A result set
// that is not complete adds nothing, one that a limit has cut does.
func TestTotals(t *testing.T) {
	t.Parallel()
	totals := &question.Totals{By: []string{"A", "DATABASE_NAME"}, Sum: []string{"b"}}
	integers, decimals := columnsOf("NVARCHAR", "BIGINT"), columnsOf("NVARCHAR", "DECIMAL")
	give(t, totals, "d1", integers, nil, []driver.Value{"x", int64(math.MaxInt64)}, []driver.Value{"x", int64(math.MaxInt64)}, []driver.Value{nil, nil})
	give(t, totals, "d1", decimals, question.ErrEnough, []driver.Value{"x", []byte("0.10")}, []driver.Value{"x", []byte("-0.2")})
	give(t, totals, "d2", integers, nil, []driver.Value{"x", int64(math.MinInt64)}, []driver.Value{"x", int64(-1)})
	give(t, totals, "d2", integers, errors.New("lost"), []driver.Value{"x", int64(7)})
	require.Equal(t, []string{"x|d1|2|4|18446744073709551613.90", "x|d2|1|2|-9223372036854775809", "NULL|d1|1|1|NULL"}, shown(totals.Groups(0)))
	require.Len(t, totals.Groups(1), 1)

	floats := &question.Totals{Sum: []string{"a", "b"}}
	give(t, floats, "d1", columnsOf("FLOAT", "BIT"), nil, []driver.Value{1.5, true}, []driver.Value{nil, false}, []driver.Value{0.25, true})
	give(t, floats, "d2", columnsOf("INT", "BIT"), nil, []driver.Value{int64(2), nil})
	require.Equal(t, []string{"2|4|3.75|2"}, shown(floats.Groups(0)))
	require.Empty(t, (&question.Totals{}).Groups(0))

	_, err := totals.Begin(targets.NewTarget("s", "d", ""), 2, columnsOf("INT"))
	var own *question.TargetError
	require.ErrorAs(t, err, &own)
	require.EqualError(t, err, `result set 2 has no column "b": it has a`)
}

// The sums of parts that are added in any order, over any number of databases, are the same.
func TestTotalsInAnyOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var rows [][]driver.Value
		for range random.IntN(40) {
			value := driver.Value(int64(random.Uint64()))
			if random.IntN(2) == 0 {
				value = []byte(fmt.Sprintf("%d.%02d", random.Int64N(1e6), random.IntN(100)))
			}
			rows = append(rows, []driver.Value{fmt.Sprint(random.IntN(3)), value})
		}
		add := func(parts int) []string {
			totals := &question.Totals{By: []string{"a"}, Sum: []string{"b"}}
			random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			for part := range slices.Chunk(rows, max(1, len(rows)/parts)) {
				give(t, totals, "d", columnsOf("NVARCHAR", "DECIMAL"), nil, part...)
			}
			list := totals.Groups(0)
			for _, g := range list {
				g.Databases = 0 // each part counts as a database
			}
			return shown(list)
		}
		require.Equal(t, add(1), add(1+random.IntN(9)))
	}
}

// Largest keeps what a sort of all rows would have first.
func TestLargest(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		n, most := random.IntN(60), 1+random.IntN(10)
		largest := &question.Largest{Rows: most, Column: "B"}
		var want []int64
		value := []byte("00") // the driver may use its buffer again
		for i := range n {
			v := random.Int64N(100)
			row := []driver.Value{value, driver.Value(v)}
			columns := columnsOf("VARBINARY", "INT")
			if i%2 == 0 {
				row[1], columns[1].Type = []byte(fmt.Sprintf("%d.00", v)), "DECIMAL"
			}
			copy(value, fmt.Sprintf("%02d", v))
			give(t, largest, "d", columns, nil, row)
			want = append(want, v)
		}
		give(t, largest, "d", columnsOf("VARBINARY", "INT"), nil, []driver.Value{value, nil})
		slices.SortFunc(want, func(x, y int64) int { return int(y - x) })
		var got []string
		require.NoError(t, largest.PassOn(sinkFunc(func(row []driver.Value) error {
			if b, ok := row[0].([]byte); ok {
				got = append(got, string(b))
			}
			return nil
		})))
		require.Len(t, got, min(most, n+1))
		for i, text := range got[:min(most, n)] {
			require.Equal(t, fmt.Sprintf("%02d", want[i]), text)
		}
	}
}

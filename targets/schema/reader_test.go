package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/drift"
)

// What the embedded server does not have is read from rows as SQL Server documents them: temporal
// tables whose history tables the system named, graphs, indexes without keys, modules without text,
// and columns of partition schemes.
func TestReadRows(t *testing.T) {
	t.Parallel()
	read := func(history int64) (all []string) {
		r := newReader(func(o *drift.Object) {
			line := (drift.Key{Kind: o.Kind, Schema: o.Schema, Table: o.Table, Name: o.Name}).String() + ":"
			for _, p := range o.Properties {
				line += fmt.Sprintf(" %s=%s", p.Name, p.Value)
			}
			all = append(all, line)
		})
		name := fmt.Sprintf("MSSQL_TemporalHistoryFor_%d", history)
		r.schema(row{int64(1), "dbo"})
		for _, x := range []row{
			{int64(56), int64(56), int64(4), "int", false, false, false, int64(4), int64(10), int64(0), true},
			{int64(62), int64(62), int64(4), "float", false, false, false, int64(8), int64(53), int64(0), true},
			{int64(300), int64(240), int64(1), "Point", true, false, true, int64(-1), int64(0), int64(0), true},
		} {
			r.dataType(x)
		}
		for id, o := range map[int64][2]string{1: {"U ", "T"}, history: {"U ", name}, 3: {"U ", "N"}, 4: {"PC", "clr"}, 5: {"P ", "secret"}, 6: {"D ", "old default"}} {
			r.object(row{id, int64(1), o[0], o[1]})
		}
		r.table(row{int64(1), "SYSTEM_VERSIONED_TEMPORAL_TABLE", history, false, "SCHEMA_AND_DATA", "AUTO", false, false, false})
		r.table(row{history, drift.HistoryTable, nil, false, "SCHEMA_AND_DATA", "TABLE", false, false, false})
		r.table(row{int64(3), "NON_TEMPORAL_TABLE", nil, true, "SCHEMA_ONLY", "TABLE", true, true, true})
		r.table(row{int64(99), "NON_TEMPORAL_TABLE", nil, true, "SCHEMA_ONLY", "TABLE", true, true, true}) // of the server
		column := func(object, id int64, name string, kind int64, generated string, graph any) {
			r.column(row{object, id, name, kind, int64(4), int64(10), int64(0), nil, false, false, true, false, false, true, true, generated, nil, graph})
		}
		column(1, 7, "b", 56, "AS_ROW_START", nil)
		column(1, 2, "a", 300, "NOT_APPLICABLE", nil)
		column(history, 2, "a", 62, "NOT_APPLICABLE", nil)
		column(3, 1, "graph_id_5A", 56, "NOT_APPLICABLE", int64(1))
		column(99, 1, "x", 56, "NOT_APPLICABLE", nil)
		for i, kind := range []string{"XML", "CLUSTERED COLUMNSTORE", "NONCLUSTERED COLUMNSTORE", "NONCLUSTERED"} {
			r.index(row{int64(1), int64(10 + i), kind, kind, false, false, false, false, int64(0), false, false, true, true, nil})
			r.indexColumn(row{int64(1), int64(10 + i), int64(1), int64(2), int64(0), false, strings.HasSuffix(kind, "COLUMNSTORE")})
		}
		r.index(row{history, int64(1), "ix_" + name, "CLUSTERED", false, false, false, false, int64(0), false, false, true, true, nil})
		r.index(row{int64(99), int64(1), "x", "CLUSTERED", false, false, false, false, int64(0), false, false, true, true, nil})
		r.indexColumn(row{int64(99), int64(1), int64(1), int64(2), int64(0), false, false})
		r.flush()
		r.flush()
		r.module(row{int64(5), nil, true, true})
		r.module(row{int64(6), "CREATE DEFAULT x AS 1", true, true})
		slices.Sort(all)
		return all
	}
	want := []string{
		"column a of dbo.MSSQL_TemporalHistoryFor_T: hidden=yes masked=yes nullability=not null sparse=yes type=float(10)",
		"column a of dbo.T: hidden=yes masked=yes nullability=not null sparse=yes type=[dbo].[Point]",
		"column b of dbo.T: generated always=AS_ROW_START hidden=yes masked=yes nullability=not null sparse=yes type=int",
		"index NONCLUSTERED on dbo.T: index type=NONCLUSTERED",
		"index XML on dbo.T: index type=XML key=[a]",
		"index [CLUSTERED COLUMNSTORE] on dbo.T: clustered=yes index type=CLUSTERED COLUMNSTORE",
		"index [NONCLUSTERED COLUMNSTORE] on dbo.T: included columns=[a] index type=NONCLUSTERED COLUMNSTORE",
		"index ix_MSSQL_TemporalHistoryFor_T on dbo.MSSQL_TemporalHistoryFor_T: clustered=yes index type=CLUSTERED",
		"module of an assembly dbo.clr:",
		"procedure dbo.secret: encrypted=yes",
		"table dbo.MSSQL_TemporalHistoryFor_T: column order=[a] temporal=HISTORY_TABLE",
		"table dbo.N: edge=yes external=yes memory optimized=SCHEMA_ONLY node=yes",
		"table dbo.T: column order=[a], [b] history table=[dbo].[MSSQL_TemporalHistoryFor_T] lock escalation=AUTO temporal=SYSTEM_VERSIONED_TEMPORAL_TABLE",
		"type dbo.Point: type=of an assembly",
	}
	require.Equal(t, want, read(1234))
	require.Equal(t, want, read(567))
}

// A login that may not see all objects is no schema, and neither is an answer that is cut.
func TestRightIsNeeded(t *testing.T) {
	t.Parallel()
	r := newReader(nil)
	r.right(row{int64(1)})
	require.NoError(t, r.err)
	for _, answer := range []any{int64(0), nil} {
		r.right(row{answer})
		require.ErrorIs(t, r.err, ErrNoRight)
	}
}

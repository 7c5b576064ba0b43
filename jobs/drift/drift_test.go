package drift_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/drift"
)

func TestNormalizeModule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"CREATE PROC GetOrder AS SELECT 1", "CREATE PROCEDURE [dbo].[a]]b] AS SELECT 1"},
		{"alter\tprocedure [dbo] . \"Get\"\"Order\" AS SELECT 1 \r\n", "CREATE PROCEDURE [dbo].[a]]b] AS SELECT 1"},
		{"-- who  \r\n/* what \r\n*/create  or\r\nALTER view x.y(a) AS SELECT 'it''s  \r\n' AS s  \r\n-- end ", "-- who\n/* what\n*/CREATE VIEW [dbo].[a]]b](a) AS SELECT 'it''s  \r\n' AS s\n-- end"},
		{"CREATE FUNCTION f() RETURNS int AS BEGIN RETURN 1 END", "CREATE FUNCTION [dbo].[a]]b]() RETURNS int AS BEGIN RETURN 1 END"},
		{"CREATE TRIGGER [t]ON dbo.x AFTER INSERT AS SELECT [ \r\n], \" \r\n\"", "CREATE TRIGGER [dbo].[a]]b]ON dbo.x AFTER INSERT AS SELECT [ \r\n], \" \r\n\""},
		{"CREATE /* x */ PROC p AS \r\nSELECT 1", "CREATE /* x */ PROC p AS\nSELECT 1"},
		{"CREATE TABLE t", "CREATE TABLE t"},
		{"CREATE OR REPLACE VIEW x", "CREATE OR REPLACE VIEW x"},
		{"CREATE PROC a.b.c AS", "CREATE PROC a.b.c AS"},
		{"CREATE PROC", "CREATE PROC"},
		{"CREATE PROC [open", "CREATE PROC [open"},
		{"-- only", "-- only"},
		{"", ""},
	} {
		require.Equal(t, c.want, drift.NormalizeModule(c.text, "dbo", "a]b"), c.text)
		require.Equal(t, c.want, drift.NormalizeModule(c.want, "dbo", "a]b"), "again")
	}
	require.Equal(t, "CREATE TRIGGER [x] ON DATABASE", drift.NormalizeModule("CREATE TRIGGER y ON DATABASE", "", "x"))
}

// What is in strings and quoted names stays; the form is its own normal form.
func FuzzNormalizeModule(f *testing.F) {
	f.Add("CREATE PROC p AS SELECT 'a \r\n', [b ], \"c\" -- d \r\n")
	f.Add("/* /* */ create or alter view [a].b as /* \r\n")
	f.Fuzz(func(t *testing.T, text string) {
		once := drift.NormalizeModule(text, "dbo", "x")
		require.Equal(t, once, drift.NormalizeModule(once, "dbo", "x"))
		if !strings.ContainsAny(text, "'\"[/-") {
			require.NotContains(t, once, "\r\n")
			require.NotContains(t, once, " \n")
		}
	})
}

// object returns an object with properties, given as pairs.
func object(kind drift.Kind, table, name string, properties ...string) *drift.Object {
	o := &drift.Object{Kind: kind, Schema: "dbo", Table: table, Name: name}
	for i := 0; i < len(properties); i += 2 {
		o.Set(properties[i], properties[i+1])
	}
	return o
}

// fleet returns a fleet of databases d0, d1 and so on.
func fleet(o drift.Options, budget int64, databases ...[]*drift.Object) *drift.Fleet {
	f := drift.NewFleet(o, budget)
	for i, list := range databases {
		e := f.Begin()
		for _, o := range list {
			e.Add(o)
		}
		e.End(fmt.Sprint("d", i))
	}
	return f
}

// words returns the differences from the majority, with the databases.
func words(t *testing.T, f *drift.Fleet) (all []string) {
	t.Helper()
	r, err := f.Majority()
	require.NoError(t, err)
	for _, d := range f.Compare(r).Differences {
		all = append(all, d.Words()+": "+strings.Join(append(d.Details, d.Databases...), "; "))
	}
	return all
}

func TestMajority(t *testing.T) {
	t.Parallel()
	table := object(drift.KindTable, "", "t", drift.PropertyColumnOrder, "[a]")
	a, b := object(drift.KindColumn, "t", "a", drift.PropertyType, "int"), object(drift.KindColumn, "t", "b", drift.PropertyType, "int")
	big := object(drift.KindColumn, "t", "a", drift.PropertyType, "bigint")
	_, err := fleet(drift.Options{}, 1000).Majority()
	require.ErrorIs(t, err, drift.ErrNoDatabase)
	// Each database has another difference, so that no schema has a majority; each object has one.
	f := fleet(drift.Options{}, 1<<20,
		[]*drift.Object{table, a}, []*drift.Object{table, a, b}, []*drift.Object{table, big, b}, []*drift.Object{a, b, table}, []*drift.Object{})
	require.Equal(t, []string{
		"1 lacks column b of dbo.t: d0",
		"1 has another column a of dbo.t: type: bigint in place of int; d2",
		"1 lacks table dbo.t: d4",
	}, words(t, f))
	// Half of the databases: what is there wins.
	require.Equal(t, []string{"1 lacks table dbo.t: d1"}, words(t, fleet(drift.Options{}, 1<<20, []*drift.Object{table, a}, []*drift.Object{})))
	// Without memory, differences are found, and what differs is not known.
	require.Equal(t, []string{"1 has another column a of dbo.t: more definitions differ than memory is given for, so what differs here was not kept; d2"},
		words(t, fleet(drift.Options{}, 0, []*drift.Object{table, a}, []*drift.Object{table, a}, []*drift.Object{table, big})))
}

func TestOptions(t *testing.T) {
	t.Parallel()
	key := object(drift.KindUnique, "t", "UQ__t__1A", drift.PropertyKey, "[a]", drift.PropertyFillFactor, "80")
	key.SystemNamed = true
	other := object(drift.KindUnique, "t", "UQ__t__2B", drift.PropertyKey, "[a]", drift.PropertyFillFactor, "90")
	other.SystemNamed = true
	own := object(drift.KindUnique, "t", "UQ_t", drift.PropertyKey, "[a]", drift.PropertyFillFactor, "80")
	column := func(collation string) *drift.Object {
		return object(drift.KindColumn, "t", "a", drift.PropertyType, "char(1)", drift.PropertyCollation, collation)
	}
	table := func(order string) *drift.Object {
		return object(drift.KindTable, "", "t", drift.PropertyColumnOrder, order)
	}
	check := object(drift.KindCheck, "t", "CK", drift.PropertyDefinition, "(1=1)", drift.PropertyNotTrusted, drift.On)
	role := object(drift.KindRole, "", "r")
	left := []*drift.Object{table("[a], [b]"), key, column("Latin1_General_BIN2"), check, role}
	right := []*drift.Object{table("[b], [a]"), other, column("Latin1_General_CI_AS"), object(drift.KindCheck, "t", "CK", drift.PropertyDefinition, "(1=1)")}
	all := drift.Options{IgnoreCollations: true, IgnoreFillFactors: true, IgnoreColumnOrder: true, IgnoreTrust: true}
	for _, c := range []struct {
		change func(*drift.Options)
		right  []*drift.Object
		want   string
	}{
		{func(*drift.Options) {}, right, ""},
		{func(o *drift.Options) { o.IgnoreCollations = false }, right, "1 has another column a of dbo.t"},
		{func(o *drift.Options) { o.IgnoreFillFactors = false }, right, "1 has another unique constraint ([a]) of dbo.t"},
		{func(o *drift.Options) { o.IgnoreColumnOrder = false }, right, "1 has another table dbo.t"},
		{func(o *drift.Options) { o.IgnoreTrust = false }, right, "1 has another check constraint CK of dbo.t"},
		{func(o *drift.Options) { o.Permissions = true }, right, "1 lacks role r"},
		{func(o *drift.Options) { o.SystemNames = true }, right, "1 lacks unique constraint UQ__t__1A of dbo.t"},
		{func(*drift.Options) {}, append([]*drift.Object{own}, right[2:]...), "1 lacks table dbo.t"},
		{func(o *drift.Options) { o.IgnoreConstraintNames = true }, append([]*drift.Object{own}, right...), "1 has unique constraint ([a]) of dbo.t in addition"},
		{func(o *drift.Options) { o.Leave = leave("dbo.t") }, nil, ""},
		{func(o *drift.Options) { o.Leave = leave("d*") }, nil, ""},
		{func(o *drift.Options) { o.Leave = leave("dbo.[xy]", "x") }, nil, "1 lacks table dbo.t"},
	} {
		o := all
		c.change(&o)
		f := fleet(o, 1<<20, c.right)
		r := f.Begin()
		for _, x := range left {
			r.Add(x)
		}
		got := f.Compare(f.Of(r))
		if c.want == "" {
			require.Empty(t, got.Differences)
			require.Equal(t, 1, got.Alike)
			continue
		}
		require.NotEmpty(t, got.Differences, c.want)
		require.Equal(t, c.want, got.Differences[0].Words())
	}
}

// leave leaves out the objects of patterns.
func leave(patterns ...string) func(schema, name string) bool {
	return drift.LeaveOut(patterns, func(pattern, name string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// The names of objects are never part of other values.
func TestHashesAreFramed(t *testing.T) {
	t.Parallel()
	f := fleet(drift.Options{}, 1<<20, []*drift.Object{object(drift.KindView, "", "ab", "c", "d")}, []*drift.Object{object(drift.KindView, "", "ab", "cd", "")},
		[]*drift.Object{object(drift.KindView, "", "a", "bc", "d")}, []*drift.Object{object(drift.KindView, "", "ab", "c", "d")})
	r, err := f.Majority()
	require.NoError(t, err)
	require.Equal(t, 2, f.Compare(r).Alike)
}

func TestFile(t *testing.T) {
	t.Parallel()
	file := &drift.File{Format: drift.Format, Database: "s/d", Objects: []drift.Object{
		*object(drift.KindIndex, "t", "i", drift.PropertyKey, "[a]"), *object(drift.KindTable, "", "t", drift.PropertyColumnOrder, "[a]"),
	}}
	file.Sort()
	text, err := json.Marshal(file)
	require.NoError(t, err)
	require.Equal(t, `{"format":"jobagent-schema/1","database":"s/d","objects":[{"kind":"table","schema":"dbo","name":"t","properties":{"column order":"[a]"}},`+
		`{"kind":"index","schema":"dbo","table":"t","name":"i","properties":{"key":"[a]"}}]}`, string(text))
	read, err := drift.ReadFile(bytes.NewReader(text))
	require.NoError(t, err)
	require.Equal(t, file, read)
	f := fleet(drift.Options{}, 1<<20, []*drift.Object{&read.Objects[1], &read.Objects[0]})
	require.Equal(t, 1, f.Compare(f.OfFile(read)).Alike)
	for text, want := range map[string]string{
		"{":              "unexpected EOF",
		`{"format":"x"}`: `format "x": want "jobagent-schema/1"`,
		`{"formal":"x"}`: "unknown field",
		`{"format":"jobagent-schema/1","objects":[{"kind":"tabel"}]}`: `unknown kind "tabel"`,
	} {
		_, err := drift.ReadFile(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}

// Statements are left out where they are not certain, though the object is only missing.
func TestStatements(t *testing.T) {
	t.Parallel()
	table := object(drift.KindTable, "", "t", drift.PropertyColumnOrder, "[a]")
	index := func(properties ...string) *drift.Object {
		return object(drift.KindIndex, "t", "i", append([]string{drift.PropertyKey, "[a]", drift.PropertyIndexType, "NONCLUSTERED"}, properties...)...)
	}
	view := object(drift.KindView, "", "v", drift.PropertyText, "CREATE VIEW [dbo].[v] AS SELECT 1 AS a")
	const create = "SET ANSI_NULLS ON;\nSET QUOTED_IDENTIFIER ON;\nGO\nCREATE OR ALTER VIEW [dbo].[v] AS SELECT 1 AS a\nGO"
	for _, c := range []struct {
		missing *drift.Object
		beside  []*drift.Object
		want    string
	}{
		{index(), []*drift.Object{table}, "CREATE NONCLUSTERED INDEX [i] ON [dbo].[t] ([a]);"},
		{index(drift.PropertyUnique, drift.On, drift.PropertyInclude, "[b]", drift.PropertyFilter, "([a]=(1))", drift.PropertyFillFactor, "80", drift.PropertyPadded, drift.On,
			drift.PropertyIgnoreDuplicates, drift.On, drift.PropertyNoRowLocks, drift.On, drift.PropertyNoPageLocks, drift.On), []*drift.Object{table},
			"CREATE UNIQUE NONCLUSTERED INDEX [i] ON [dbo].[t] ([a]) INCLUDE ([b]) WHERE ([a]=(1)) WITH (FILLFACTOR = 80, IGNORE_DUP_KEY = ON, ALLOW_PAGE_LOCKS = OFF, ALLOW_ROW_LOCKS = OFF, PAD_INDEX = ON);"},
		{index(drift.PropertyDisabled, drift.On), []*drift.Object{table}, ""},
		{index(drift.PropertyIndexType, "CLUSTERED", drift.PropertyClustered, drift.On), []*drift.Object{table}, ""},
		{index(drift.PropertyIndexType, "XML"), []*drift.Object{table}, ""},
		{index(), []*drift.Object{table, object(drift.KindUnique, "t", "i", drift.PropertyKey, "[b]")}, ""},
		{index(), []*drift.Object{object(drift.KindTable, "", "t", drift.PropertyTemporal, drift.HistoryTable)}, ""},
		{object(drift.KindPrimaryKey, "t", "p", drift.PropertyKey, "[a]", drift.PropertyClustered, drift.On), []*drift.Object{table}, "ALTER TABLE [dbo].[t] ADD CONSTRAINT [p] PRIMARY KEY CLUSTERED ([a]);"},
		{object(drift.KindPrimaryKey, "t", "p", drift.PropertyKey, "[a]", drift.PropertyClustered, drift.On), []*drift.Object{table, object(drift.KindIndex, "t", "c", drift.PropertyClustered, drift.On)}, ""},
		{object(drift.KindColumn, "t", "x", drift.PropertyType, "char(1)", drift.PropertyCollation, "Latin1_General_BIN2", drift.PropertyNull, "null"), []*drift.Object{table},
			"ALTER TABLE [dbo].[t] ADD [x] char(1) COLLATE Latin1_General_BIN2 NULL;"},
		{object(drift.KindColumn, "t", "x", drift.PropertyType, "int", drift.PropertyNull, "not null"), []*drift.Object{table}, ""},
		{object(drift.KindColumn, "t", "x", drift.PropertyType, "int", drift.PropertyComputed, "([a])", drift.PropertyNull, "null"), []*drift.Object{table}, ""},
		{object(drift.KindCheck, "t", "c", drift.PropertyDefinition, "([a]>(0))", drift.PropertyNFR, drift.On), []*drift.Object{table},
			"ALTER TABLE [dbo].[t] WITH CHECK ADD CONSTRAINT [c] CHECK NOT FOR REPLICATION ([a]>(0));"},
		{object(drift.KindCheck, "t", "c", drift.PropertyDefinition, "([a]>(0))", drift.PropertyNotTrusted, drift.On), []*drift.Object{table}, ""},
		{object(drift.KindForeignKey, "t", "f", drift.PropertyKey, "[a]", drift.PropertyReferences, "[dbo].[u] ([b])", drift.PropertyOnDelete, "SET NULL", drift.PropertyNFR, drift.On), []*drift.Object{table},
			"ALTER TABLE [dbo].[t] WITH CHECK ADD CONSTRAINT [f] FOREIGN KEY ([a]) REFERENCES [dbo].[u] ([b]) ON DELETE SET NULL NOT FOR REPLICATION;"},
		{table, nil, ""},
		{object(drift.KindSequence, "", "s"), nil, ""},
		{view, nil, create},
		{view, []*drift.Object{object(drift.KindProcedure, "", "v")}, ""},
		{view, []*drift.Object{object(drift.KindIndex, "v", "i")}, ""},
		{object(drift.KindView, "", "v", drift.PropertyText, "CREATE VIEW [dbo].[v] AS /*\n go\n*/ SELECT 1 AS a"), nil, ""},
		{object(drift.KindView, "", "v", drift.PropertyEncrypted, drift.On), nil, ""},
		{object(drift.KindTrigger, "t", "r", drift.PropertyText, "CREATE TRIGGER [dbo].[r] ON dbo.t AFTER INSERT AS RETURN", drift.PropertyDisabled, drift.On), []*drift.Object{table}, ""},
	} {
		f := fleet(drift.Options{}, 1<<20, c.beside)
		r := f.Begin()
		for _, o := range append(c.beside, c.missing) {
			r.Add(o)
		}
		got := f.Compare(f.Of(r))
		require.Len(t, got.Differences, 1)
		require.Equal(t, c.want, got.Differences[0].TSQL)
	}
}

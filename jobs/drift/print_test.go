package drift_test

import (
	"encoding/json"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/drift"
)

// printOf returns the print of objects.
func printOf(o drift.Options, objects ...*drift.Object) *drift.Print {
	p := drift.NewPrint(o)
	for _, x := range objects {
		p.Add(x)
	}
	p.End()
	return p
}

// partsOf returns the parts of a print.
func partsOf(t *testing.T, p *drift.Print) (list [][]string) {
	t.Helper()
	text, err := p.Parts()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(text), &list))
	return list
}

// TestPrint: the fingerprint of a print is that of a fleet, and its parts name what belongs to
// what, in one order.
func TestPrint(t *testing.T) {
	t.Parallel()
	columns := func(order string) []*drift.Object {
		table := object(drift.KindTable, "", "T", drift.PropertyColumnOrder, order)
		return []*drift.Object{
			object(drift.KindProcedure, "", "P", drift.PropertyText, "CREATE PROCEDURE [dbo].[P] AS"),
			object(drift.KindColumn, "T", "b", drift.PropertyType, "int"),
			object(drift.KindColumn, "T", "a", drift.PropertyType, "int"),
			object(drift.KindView, "", "V"),
			object(drift.KindIndex, "V", "IX", drift.PropertyKey, "[a]"),
			object(drift.KindCheck, "T", "", drift.PropertyDefinition, strings.Repeat("x", 400)),
			table,
		}
	}
	for _, o := range []drift.Options{{}, {IgnoreColumnOrder: true}, {Leave: drift.LeaveOut([]string{"dbo.P"}, func(p, name string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})}} {
		fleet := drift.NewFleet(o, 0)
		e := fleet.Begin()
		for _, x := range columns("[a], [b]") {
			e.Add(x)
		}
		require.Equal(t, e.End("d"), printOf(o, columns("[a], [b]")...).Fingerprint())
	}
	p := printOf(drift.Options{}, columns("[a], [b]")...)
	require.Equal(t, 7, p.Objects())
	parts := partsOf(t, p)
	names := map[string]string{}
	for _, x := range parts {
		require.Len(t, x[1], 16)
		require.LessOrEqual(t, len([]rune(x[0])), 300)
		if !strings.HasPrefix(x[0], "check") {
			names[x[0]] = x[2]
		} else {
			require.Equal(t, "table dbo.T", x[2])
		}
	}
	require.Equal(t, map[string]string{
		"table dbo.T": "", "order of columns of dbo.T": "table dbo.T", "column a of dbo.T": "table dbo.T", "column b of dbo.T": "table dbo.T",
		"view dbo.V": "", "index IX on dbo.V": "view dbo.V", "procedure dbo.P": "",
	}, names)
	require.Equal(t, "table dbo.T", parts[1][0], "in the order of building")

	// Only the part about the order differs where columns change places.
	other := partsOf(t, printOf(drift.Options{}, columns("[b], [a]")...))
	for i := range parts {
		require.Equal(t, parts[i][0] != "order of columns of dbo.T", parts[i][1] == other[i][1], parts[i][0])
	}
	require.Empty(t, partsOf(t, printOf(drift.Options{})))
}

// TestSelection: a selection has one form, whatever the order of its parts.
func TestSelection(t *testing.T) {
	t.Parallel()
	s := drift.Selection{Include: []string{"permissions"}, Ignore: []string{"trust", "collations", "trust"}, Exclude: []string{"dbo.tmp*", "audit"}}
	require.Equal(t, "include permissions; ignore collations, trust; exclude audit, dbo.tmp*", s.String())
	require.Empty(t, drift.Selection{}.String())
	o, err := drift.Selection{Ignore: drift.IgnoreNames(), Include: drift.IncludeNames()}.Options(nil)
	require.NoError(t, err)
	require.Equal(t, drift.Options{
		SystemNames: true, Permissions: true, IgnoreConstraintNames: true, IgnoreCollations: true, IgnoreFillFactors: true,
		IgnoreColumnOrder: true, IgnoreTrust: true,
	}, o)
	_, err = drift.Selection{Ignore: []string{"names"}}.Options(nil)
	require.EqualError(t, err, `ignore "names": want constraint-names, collations, fill-factors, column-order, trust`)
	_, err = drift.Selection{Include: []string{"all"}}.Options(nil)
	require.EqualError(t, err, `include "all": want permissions or system-names`)
}

package sqlfs

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite REFERENCE.md from the SQL files' comments")

// REFERENCE.md is the output of `jobagent db describe`.
func TestReferenceIsUpToDate(t *testing.T) {
	reference, err := Reference()
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile("REFERENCE.md", []byte(reference), 0o600))
	}
	kept, err := os.ReadFile("REFERENCE.md")
	require.NoError(t, err)
	// No diff: both texts have some 11,000 lines.
	require.True(t, reference == string(kept), "run: go test ./sql -run TestReferenceIsUpToDate -update")
}

func TestDescribeReadsTables(t *testing.T) {
	d := Describe(Object{Kind: KindProcedure, Text: `-- Does something.
--
--   when      about         then
--   One, two  the first,    a row
--             or this
--   Three     a wider column  one
--   Four      as wide as is, four
--   Five
--
-- More.
`})
	require.Equal(t, "Does something.\n\n| when | about | then |\n| --- | --- | --- |\n| `One, two` | the first, or this | a row |\n"+
		"| `Three` | a wider column | one |\n| `Four` | as wide as is, | four |\n| `Five` |  |  |\n\nMore.", d.Summary)
}

func TestDescribeKeepsParagraphsAndLists(t *testing.T) {
	d := Describe(Object{Kind: KindProcedure, Text: `-- Does
-- something:
--   One   the first
--         of two
--   Two   the second
-- More.
--
-- A paragraph:
--
--   1  a number
--
-- Parameters:
--   @a  An argument.
-- Returns:   1: one row: a,
--               b.
--            2: more rows.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE p
    @a INT
AS
`})
	require.Equal(t, "Does something:\n\n- `One`: the first of two\n- `Two`: the second\n\nMore.\n\nA paragraph:\n\n- `1`: a number\n\n", d.Summary)
	require.Equal(t, "\n- 1: one row: a, b.\n- 2: more rows.", d.Returns)
	require.Equal(t, []Entry{{Name: "@a", Type: "INT", Text: "An argument."}}, d.Parameters)
}

func TestModuleBodyIgnoresCreate(t *testing.T) {
	objects, err := Objects()
	require.NoError(t, err)
	for _, o := range objects {
		if o.Kind == KindView || o.Kind == KindProcedure {
			body := ModuleBody(o.Text)
			require.True(t, len(body) < len(o.Text) && (body[:5] == "VIEW " || body[:5] == "PROCE"), o.Name)
		}
	}
	for _, kept := range []string{"-- x\nCREATE VIEW a AS SELECT 1;", "-- x\nCREATE   VIEW a AS SELECT 1;", "-- y\nALTER VIEW a AS SELECT 1;"} {
		require.Equal(t, ModuleBody("-- x\r\nCREATE OR ALTER VIEW a AS SELECT 1;\r\n"), ModuleBody(kept))
	}
}

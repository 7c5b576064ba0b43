package tsqld

import (
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/sqlprinter"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
)

// nestSeeds are statements that have, beside listSeeds, every place of the grammar where a part can
// stand in a part of the same kind.
var nestSeeds = []string{
	"SELECT 1 + 2 * a, -a, (a), CAST(a AS INT), CONVERT(INT, a, 1), PARSE(N'1' AS INT USING N'en'), IIF(a = 1, a, b), TRIM(N'a' FROM c), a.b.f(a), c COLLATE Latin1_General_BIN, b AT TIME ZONE N'UTC', (SELECT a), JSON_OBJECT(c: a), JSON_ARRAY(a) FROM dbo.t",
	"SELECT a FROM dbo.t WHERE a = 1 AND NOT (b = 2 OR a IS NULL) AND a BETWEEN 1 AND 2 AND a LIKE 'a' ESCAPE 'b' AND a IN (SELECT 1) AND a = ANY (SELECT 1) AND EXISTS (SELECT 1) AND a IS DISTINCT FROM b",
	"SELECT CASE a WHEN 1 THEN 2 ELSE 3 END, CASE WHEN a = 1 THEN 2 END, SUM(a) OVER (PARTITION BY a ORDER BY b ROWS 1 PRECEDING) FROM dbo.t",
	"(SELECT 1 UNION (SELECT 2)) EXCEPT SELECT 3 INTERSECT SELECT 4",
	"SELECT zzt.a FROM dbo.t AS zzt CROSS JOIN dbo.t AS zzu LEFT JOIN (dbo.t AS zzv INNER JOIN dbo.t AS zzw ON zzv.a = zzw.a) ON zzt.a = zzv.a",
	"SELECT zzd.a FROM (SELECT zze.a FROM dbo.t AS zze) AS zzd CROSS APPLY (SELECT zzd.a AS x) AS zzf",
	"IF 1 = 1 IF 1 = 2 SELECT 1 ELSE SELECT 2 ELSE WHILE 1 = 0 BEGIN SELECT 3 END",
	"BEGIN TRY BEGIN SELECT 1 END END TRY BEGIN CATCH BEGIN TRY SELECT 1 END TRY BEGIN CATCH SELECT 2 END CATCH END CATCH",
	"INSERT INTO dbo.t (a) SELECT a FROM (SELECT 1 AS a) AS zzs",
	"DECLARE @x XML = N'<a/>'; SELECT (@x.query('a')).query('b')",
}

// slot is a place in a tree that can hold different parts of one kind, such as an expression.
type slot struct {
	kind reflect.Type
	path []int  // indexes of fields and elements, from the root
	name string // the fields of the path
}

// slots returns the places of a tree, from the outside to the inside.
func slots(root reflect.Value) (found []slot) {
	var walk func(v reflect.Value, path []int, name string)
	walk = func(v reflect.Value, path []int, name string) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if v.IsNil() {
				return
			}
			if v.Kind() == reflect.Interface || v.Type() == reflect.TypeFor[*syntax.Query]() {
				found = append(found, slot{v.Type(), slices.Clone(path), name})
			}
			walk(v.Elem(), path, name)
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() && !f.Anonymous {
					walk(v.Field(i), append(slices.Clone(path), i), name+" "+v.Type().Name()+"."+f.Name)
				}
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i), append(slices.Clone(path), i), name)
			}
		}
	}
	walk(root, nil, "")
	return found
}

// at returns the place of a tree at a path.
func at(v reflect.Value, path []int) reflect.Value {
	for _, i := range path {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if v.Kind() == reflect.Struct {
			v = v.Field(i)
		} else {
			v = v.Index(i)
		}
	}
	return v
}

// nestDepths are how deep statements are nested: within the limit of nesting, within that of chains
// of operators, and as deep as lists are long.
var nestDepths = []int{480, 5000, 0}

// longNests makes statements in which a part stands in a part of the same kind, which stands in a
// part of the same kind, and so on: every one of so many.
func longNests(t *testing.T, every int) iter.Seq[longList] {
	t.Helper()
	return func(yield func(longList) bool) {
		seen := map[string]bool{}
		for i, seed := range slices.Concat(nestSeeds, listSeeds) {
			parse := func() reflect.Value {
				b, err := parser.Parse(seed, parser.DefaultOptions)
				require.NoError(t, err, seed)
				return reflect.ValueOf(b)
			}
			all := slots(parse())
			for k, outer := range all {
				for _, inner := range all[k+1:] {
					if inner.kind != outer.kind || len(inner.path) <= len(outer.path) || !slices.Equal(inner.path[:len(outer.path)], outer.path) {
						continue
					}
					name := strings.TrimPrefix(inner.name, outer.name)
					if seen[name] {
						continue
					}
					seen[name] = true
					if every == 0 || len(seen)%every != 0 {
						continue
					}
					for _, depth := range nestDepths {
						l := longList{"nest " + strconv.Itoa(i) + name + " " + strconv.Itoa(depth), func(n int) string {
							if depth > 0 {
								n = min(n, depth)
							}
							return nested(parse(), outer, inner, n)
						}}
						if !yield(l) {
							return
						}
					}
				}
			}
		}
	}
}

// nested returns the text of a batch in which n parts stand in each other.
func nested(batch reflect.Value, outer, inner slot, n int) string {
	hole := inner.path[len(outer.path):]
	part := copied(at(batch, outer.path), 0)
	for number := range n - 1 {
		c := reflect.New(outer.kind).Elem()
		c.Set(copied(at(batch, outer.path), number+1))
		at(c, hole).Set(part)
		part = c
	}
	at(batch, outer.path).Set(part)
	b, _ := batch.Interface().(*syntax.Batch)
	b.Source = ""
	return sqlprinter.Print(b)
}

// allLong makes the batches of longLists, longNests and longValues.
func allLong(t *testing.T, n, pairs int) iter.Seq[longList] {
	return func(yield func(longList) bool) {
		for _, s := range []iter.Seq[longList]{longLists(t, n, pairs), longNests(t, pairs), longValueLists(pairs)} {
			for l := range s {
				if !yield(l) {
					return
				}
			}
		}
	}
}

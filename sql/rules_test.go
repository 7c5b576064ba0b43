package sqlfs

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// A rule finds problems that occur on SQL Server but never on the embedded server: DESIGN.md,
// "Rules of sql/", lists the rules and the comments that answer them.
type rule func(r *tree, name string, s statement) []string

// finds runs a rule over all procedures and views.
func (r *tree) finds(check rule) map[string][]string {
	found := map[string][]string{}
	for name, text := range r.source {
		for _, s := range statements(text, r.batches[name].Stmts[0]) {
			for _, what := range check(r, name, s) {
				found[name] = append(found[name], fmt.Sprintf("line %d: %s", s.Pos().Line, what))
			}
		}
	}
	return found
}

// badTables are the tables of bad examples.
const badTables = `CREATE TABLE jobs_internal.things (
    id     BIGINT NOT NULL,
    parent BIGINT NOT NULL,
    name   NVARCHAR(128) NOT NULL,
    note   NVARCHAR(MAX) NULL,
    origin BIGINT NULL,
    CONSTRAINT PK_things PRIMARY KEY (id),
    CONSTRAINT UQ_things_name UNIQUE (parent, name)
);
CREATE INDEX IX_things_name ON jobs_internal.things (name);
CREATE INDEX IX_things_origin ON jobs_internal.things (origin) WHERE origin IS NOT NULL;
ALTER TABLE jobs_internal.things SET (LOCK_ESCALATION = DISABLE);
CREATE TABLE jobs_internal.state (
    id    TINYINT NOT NULL,
    state NVARCHAR(20) NOT NULL,
    CONSTRAINT PK_state PRIMARY KEY (id),
    CONSTRAINT CK_state_id CHECK (id = 1)
);`

// requireFindings checks that a rule has exactly these findings in the body of a procedure.
func requireFindings(t *testing.T, check rule, body string, want ...string) {
	t.Helper()
	r := newTree(t, badTables, "CREATE OR ALTER PROCEDURE jobs_internal.bad\n    @p BIGINT\nAS\nBEGIN\n"+body+"\nEND;")
	var found []string
	for _, s := range statements(r.source["jobs_internal.bad"], r.procedures["jobs_internal.bad"]) {
		found = append(found, check(r, "jobs_internal.bad", s)...)
	}
	require.Equal(t, want, found, body)
}

// requireKnown checks that a rule has findings in exactly these objects.
func requireKnown(t *testing.T, known map[string]bool, found map[string][]string) {
	t.Helper()
	for name := range known {
		require.Contains(t, found, name, "the object has no finding now: remove it from the list")
		delete(found, name)
	}
	require.Empty(t, found)
}

// lockHints are the hints with which a read keeps its locks until the transaction ends.
var lockHints = []string{"UPDLOCK", "HOLDLOCK", "SERIALIZABLE", "REPEATABLEREAD", "XLOCK"}

// lockedIndex is rule "index": SQL Server locks the keys of the index that it reads. A read that
// keeps its locks must use a column that only the clustered index has, so that it locks rows; or a
// comment "-- index: NAME" names the intended index
// (https://learn.microsoft.com/sql/t-sql/queries/hints-transact-sql-table#remarks).
func lockedIndex(r *tree, _ string, s statement) []string {
	var found []string
	for _, n := range s.own() {
		for _, sc := range scopes(n) {
			for _, src := range sources(sc.from) {
				name, ok := src.(*syntax.TableName)
				if !ok || !hint(name, lockHints...) || aliasOf(src) == sc.target {
					continue
				}
				table := r.table(name.Name)
				if table == nil {
					found = append(found, fmt.Sprintf("%s is locked but is not a table", name.Name))
					continue
				}
				if said := s.answer("index"); said != "" {
					if !slices.ContainsFunc(table.indexes, func(i *schemaIndex) bool { return i.name == said }) {
						found = append(found, fmt.Sprintf("%s has no index %s", table.name, said))
					}
					continue
				}
				if i := coveredBy(table, columnsOf(sc.node, aliasOf(src))); i != "" {
					found = append(found, fmt.Sprintf("the lock may be on %s of %s, which other procedures may not use", i, table.name))
				}
			}
		}
	}
	return found
}

// coveredBy returns one index, or two, that have all of these columns; "" means that the clustered
// index is needed.
func coveredBy(t *schemaTable, columns []string) string {
	for i, a := range t.indexes {
		if a.clustered {
			continue
		}
		for _, b := range t.indexes[i:] {
			if !b.clustered && t.covers(columns, a, b) {
				return strings.Join(slices.Compact([]string{a.name, b.name}), " and ")
			}
		}
	}
	return ""
}

func TestLocksAreOnRows(t *testing.T) {
	require.Empty(t, readTree(t).finds(lockedIndex))
	requireFindings(t, lockedIndex, "SELECT @p = x.id FROM jobs_internal.things AS x WITH (UPDLOCK, HOLDLOCK) WHERE x.name = N'a' AND x.parent = 1;",
		"the lock may be on UQ_things_name of things, which other procedures may not use")
	requireFindings(t, lockedIndex, "SELECT @p = x.id FROM jobs_internal.things AS x WITH (REPEATABLEREAD) WHERE x.name = N'a';",
		"the lock may be on UQ_things_name of things, which other procedures may not use")
	requireFindings(t, lockedIndex, "SELECT @p = x.id FROM jobs_internal.things AS x WITH (UPDLOCK) WHERE x.name = N'a' AND x.note IS NULL;")
	requireFindings(t, lockedIndex, "-- index: UQ_things_name\nSELECT @p = x.id FROM jobs_internal.things AS x WITH (UPDLOCK) WHERE x.name = N'a';")
	requireFindings(t, lockedIndex, "-- index: IX_other\nSELECT @p = x.id FROM jobs_internal.things AS x WITH (UPDLOCK) WHERE x.name = N'a';",
		"things has no index IX_other")
}

// unescaped is rule "message": percent signs in a message for THROW must be doubled. THROW treats
// them as format characters, so a name with %d would empty the whole message
// (https://learn.microsoft.com/sql/t-sql/language-elements/throw-transact-sql#arguments).
func unescaped(p *syntax.CreateProcedureStmt) []string {
	values := map[string][]syntax.Expr{} // the expressions assigned to variables; nil: not an expression
	syntax.Inspect(p, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.VarDecl:
			if n.Init != nil {
				values[n.Name] = append(values[n.Name], n.Init)
			}
		case *syntax.SetVarStmt:
			x := n.Value
			if n.Op != syntax.OpNone {
				x = nil
			}
			values[n.Name] = append(values[n.Name], x)
		case *syntax.SelectAssign:
			x := n.X
			if n.Op != syntax.OpNone {
				x = nil
			}
			values[n.Var] = append(values[n.Var], x)
		case *syntax.SetClause:
			if n.Var != "" {
				values[n.Var] = append(values[n.Var], nil)
			}
		case *syntax.ExecArg:
			if v, ok := n.Value.(*syntax.VarRef); ok && n.Output {
				values[v.Name] = append(values[v.Name], nil)
			}
		case *syntax.Param:
			values[n.Name] = append(values[n.Name], nil)
		}
		return true
	})
	var wrong []string
	syntax.Inspect(p, func(n syntax.Node) bool {
		s, ok := n.(*syntax.ThrowStmt)
		if !ok || s.Message == nil {
			return true
		}
		at := fmt.Sprintf("line %d", s.Pos().Line)
		switch m := s.Message.(type) {
		case *syntax.Literal:
			if strings.Contains(strings.ReplaceAll(m.Text, "%%", ""), "%") {
				wrong = append(wrong, at+": a single % in the text")
			}
		case *syntax.VarRef:
			if len(values[m.Name]) == 0 {
				wrong = append(wrong, fmt.Sprintf("%s: %s is never assigned", at, m.Name))
			}
			for _, x := range values[m.Name] {
				if !escapes(x) {
					wrong = append(wrong, fmt.Sprintf("%s: %s may hold single percent signs", at, m.Name))
				}
			}
		}
		return true
	})
	return wrong
}

// escapes reports whether an expression doubles percent signs as its last operation, or is NULL.
func escapes(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.Literal:
		return x.Kind == syntax.NullLit
	case *syntax.FuncCall:
		if x.Name.String() != "REPLACE" || len(x.Args) != 3 {
			return false
		}
		from, ok1 := x.Args[1].(*syntax.Literal)
		to, ok2 := x.Args[2].(*syntax.Literal)
		return ok1 && ok2 && from.Text == "%" && to.Text == "%%"
	}
	return false
}

func TestThrownMessagesAreEscaped(t *testing.T) {
	r := readTree(t)
	for name, p := range r.procedures {
		require.Empty(t, unescaped(p), name)
	}
	for body, want := range map[string][]string{
		"THROW 50001, N'100%', 1;":                                                                              {"line 5: a single % in the text"},
		"THROW 50001, N'100%%', 1;":                                                                             nil,
		"DECLARE @m NVARCHAR(100);\nTHROW 50001, @m, 1;":                                                        {"line 6: @m is never assigned"},
		"DECLARE @m NVARCHAR(100) = N'a';\nTHROW 50001, @m, 1;":                                                 {"line 6: @m may hold single percent signs"},
		"DECLARE @m NVARCHAR(100);\nSET @m = REPLACE(N'a', N'%', N'%%');\nTHROW 50001, @m, 1;":                  nil,
		"DECLARE @m NVARCHAR(100);\nSET @m = CONCAT(REPLACE(N'a', N'%', N'%%'), @n);\nTHROW 50001, @m, 1;":      {"line 7: @m may hold single percent signs"},
		"DECLARE @m NVARCHAR(100);\nSET @m = REPLACE(N'a', N'%', N'%%');\nSET @m += N'b';\nTHROW 50001, @m, 1;": {"line 8: @m may hold single percent signs"},
		"DECLARE @m NVARCHAR(100);\nEXECUTE jobs_internal.q @m = @m OUTPUT;\nTHROW 50001, @m, 1;":               {"line 7: @m may hold single percent signs"},
		"THROW 50001, @p, 1;": {"line 5: @p may hold single percent signs"},
	} {
		r := newTree(t, "CREATE OR ALTER PROCEDURE jobs_internal.bad\n    @p NVARCHAR(100)\nAS\nBEGIN\n"+body+"\nEND;")
		require.Equal(t, want, unescaped(r.procedures["jobs_internal.bad"]), body)
	}
}

// catchAll is rule "plan", first part: WHERE @p IS NULL OR column = @p has one plan for both cases,
// which cannot seek. OPTION (RECOMPILE), two branches, or a comment "-- plan: reason" answers the
// finding.
func catchAll(_ *tree, _ string, s statement) []string {
	if recompiles(s.Stmt) || s.answer("plan") != "" {
		return nil
	}
	var found []string
	for _, n := range s.own() {
		for _, sc := range scopes(n) {
			for _, c := range sc.conditions() {
				syntax.Inspect(c, func(n syntax.Node) bool {
					if _, ok := n.(*syntax.Select); ok {
						return false // a scope of its own
					}
					or, ok := n.(*syntax.LogicCond)
					if !ok || or.Op != syntax.OpOr {
						return true
					}
					for _, sides := range [][2]syntax.Cond{{or.X, or.Y}, {or.Y, or.X}} {
						if v := nullVariable(sides[0]); v != "" && mentionsColumn(sides[1]) {
							found = append(found, "a catch-all predicate on "+v)
						}
					}
					return true
				})
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// nullVariable returns the variable that a condition requires to be NULL, alone or with AND; "" if
// none.
func nullVariable(c syntax.Cond) string {
	switch c := c.(type) {
	case *syntax.ParenCond:
		return nullVariable(c.X)
	case *syntax.IsNullCond:
		if v, ok := c.X.(*syntax.VarRef); ok && !c.Not {
			return v.Name
		}
	case *syntax.LogicCond:
		if v := nullVariable(c.X); v != "" {
			return v
		}
		return nullVariable(c.Y)
	}
	return ""
}

// mentionsColumn reports whether a condition contains a column.
func mentionsColumn(c syntax.Cond) bool {
	found := false
	syntax.Inspect(c, func(n syntax.Node) bool {
		_, ok := n.(*syntax.ColumnRef)
		found = found || ok
		return true
	})
	return found
}

// recompiles reports whether a statement has OPTION (RECOMPILE).
func recompiles(s syntax.Stmt) bool {
	found := false
	syntax.Inspect(s, func(n syntax.Node) bool {
		o, ok := n.(*syntax.Option)
		found = found || ok && o.Name == "RECOMPILE"
		return true
	})
	return found
}

func TestNoCatchAllPredicates(t *testing.T) {
	require.Empty(t, readTree(t).finds(catchAll))
	requireFindings(t, catchAll, "DELETE x FROM jobs_internal.things AS x WHERE @p IS NULL OR x.id = @p;", "a catch-all predicate on @p")
	requireFindings(t, catchAll, "DELETE x FROM jobs_internal.things AS x WHERE x.note = N'' AND (x.id = @p OR (@p IS NULL AND x.parent = 1));", "a catch-all predicate on @p")
	requireFindings(t, catchAll, "SELECT @p = (SELECT MAX(x.id) FROM jobs_internal.things AS x WHERE x.id = @p OR @p IS NULL);", "a catch-all predicate on @p")
	requireFindings(t, catchAll, "DELETE x FROM jobs_internal.things AS x WHERE @p IS NULL OR x.id = @p OPTION (RECOMPILE);")
	requireFindings(t, catchAll, "-- plan: ten rows\nDELETE x FROM jobs_internal.things AS x WHERE @p IS NULL OR x.id = @p;")
	requireFindings(t, catchAll, "IF @p IS NULL OR EXISTS (SELECT 1 FROM jobs_internal.things AS x WHERE x.id = @p) RETURN 0;")
}

// guessedJoin is rule "plan", second part: SQL Server 2017 assumes one row in each table variable.
// A join of two of them is therefore a nested loop, whose inner side is read once per row: cheap as
// a seek of a key, and quadratic otherwise. OPTION (RECOMPILE) makes SQL Server count the rows; a
// comment "-- plan: reason" explains why there are few
// (https://learn.microsoft.com/sql/t-sql/data-types/table-transact-sql#limitations-and-restrictions).
func guessedJoin(r *tree, name string, s statement) []string {
	if recompiles(s.Stmt) || s.answer("plan") != "" {
		return nil
	}
	keys := tableVariables(r.procedures[name])
	var found []string
	for _, n := range s.own() {
		for _, sc := range scopes(n) {
			guessed := map[string]string{} // by alias; those of subqueries are "a subquery"
			for _, src := range sources(sc.from) {
				switch src := src.(type) {
				case *syntax.TableVar:
					guessed[aliasOf(src)] = src.Name
				case *syntax.DerivedTable:
					if len(readsVariables(src)) > 0 {
						guessed[aliasOf(src)] = "a subquery"
					}
				}
			}
			aliases := slices.Sorted(maps.Keys(guessed))
			for i, a := range aliases {
				for _, b := range aliases[i+1:] {
					if !seeks(sc, a, keys[guessed[a]]) && !seeks(sc, b, keys[guessed[b]]) {
						found = append(found, fmt.Sprintf("%s and %s are joined, and neither by its key", guessed[a], guessed[b]))
					}
				}
			}
		}
	}
	return found
}

// seeks reports whether a scope compares all columns of one of the keys with a value.
func seeks(sc scope, alias string, keys [][]string) bool {
	equal := sc.equals(alias)
	return slices.ContainsFunc(keys, func(key []string) bool {
		return !slices.ContainsFunc(key, func(c string) bool { return equal[c] == nil })
	})
}

// tableVariables returns the keys of a procedure's table variables.
func tableVariables(p *syntax.CreateProcedureStmt) map[string][][]string {
	keys := map[string][][]string{}
	syntax.Inspect(p, func(n syntax.Node) bool {
		d, ok := n.(*syntax.VarDecl)
		if !ok || d.Table == nil {
			return true
		}
		keys[d.Name] = [][]string{}
		for _, c := range d.Table.Columns {
			for _, k := range c.Constraints {
				if _, ok := k.(*syntax.KeyConstraint); ok {
					keys[d.Name] = append(keys[d.Name], []string{c.Name.Name})
				}
			}
		}
		for _, k := range d.Table.Constraints {
			if k, ok := k.(*syntax.KeyConstraint); ok {
				keys[d.Name] = append(keys[d.Name], indexColumns(k.Columns))
			}
		}
		return true
	})
	return keys
}

// readsVariables returns the table variables below n.
func readsVariables(n syntax.Node) []string {
	var names []string
	syntax.Inspect(n, func(x syntax.Node) bool {
		if v, ok := x.(*syntax.TableVar); ok {
			names = append(names, v.Name)
		}
		return true
	})
	return names
}

func TestJoinsOfTableVariablesAreBounded(t *testing.T) {
	found := readTree(t).finds(guessedJoin)
	requireKnown(t, knownJoins, found)
	const declared = "DECLARE @a TABLE (id BIGINT NOT NULL PRIMARY KEY, x INT NOT NULL);\nDECLARE @b TABLE (id BIGINT NOT NULL, x INT NOT NULL, PRIMARY KEY (id, x));\n"
	requireFindings(t, guessedJoin, declared+"SELECT @p = COUNT(*) FROM @a AS a INNER JOIN @b AS b ON b.id = a.x;", "@a and @b are joined, and neither by its key")
	requireFindings(t, guessedJoin, declared+"SELECT @p = COUNT(*) FROM @a AS a LEFT JOIN (SELECT b.x FROM @b AS b GROUP BY b.x) AS c ON c.x = a.x;", "@a and a subquery are joined, and neither by its key")
	requireFindings(t, guessedJoin, declared+"SELECT @p = COUNT(*) FROM @a AS a INNER JOIN @b AS b ON b.id = a.id;")
	requireFindings(t, guessedJoin, declared+"SELECT @p = COUNT(*) FROM @a AS a INNER JOIN @b AS b ON b.id = a.x AND b.x = a.x;")
	requireFindings(t, guessedJoin, declared+"SELECT @p = COUNT(*) FROM @a AS a INNER JOIN @b AS b ON b.id = a.x OPTION (RECOMPILE);")
	requireFindings(t, guessedJoin, declared+"SELECT @p = COUNT(*) -- plan: at most ten\nFROM @a AS a INNER JOIN @b AS b ON b.id = a.x;")
}

// shared are the tables in which several callers lock rows at once, each for a transaction.
var shared = []string{"jobs", "target_groups", "calendars", "schedules", "job_executions"}

// unorderedLocks is rule "order": a statement that waits for locks on several rows of a table that
// other procedures lock as well must take them in the order of a table variable's key: @ids INNER
// LOOP JOIN table, because the hint fixes the order of the tables, and the key that of the rows.
// One row of a key, READPAST, a change of rows in a list (which were locked before), and a comment
// "-- order: reason" answer the finding
// (https://learn.microsoft.com/sql/t-sql/queries/hints-transact-sql-join).
func unorderedLocks(r *tree, name string, s statement) []string {
	if s.answer("order") != "" {
		return nil
	}
	keys := tableVariables(r.procedures[name])
	var found []string
	for _, n := range s.own() {
		for _, sc := range scopes(n) {
			for _, src := range sources(sc.from) {
				table, ok := src.(*syntax.TableName)
				if !ok || r.table(table.Name) == nil || !slices.Contains(shared, table.Name.Last()) || hint(table, "READPAST") {
					continue
				}
				changed := sc.target != "" && aliasOf(src) == sc.target
				if !changed && !hint(table, lockHints...) {
					continue
				}
				if oneRow(r.table(table.Name), sc, aliasOf(src)) || inOrder(sc, table, keys) || changed && listed(sc) {
					continue
				}
				found = append(found, fmt.Sprintf("rows of %s are locked in any order", table.Name.Last()))
			}
		}
	}
	return found
}

// oneRow reports whether a scope compares a key of a table with values that do not come from
// another table.
func oneRow(t *schemaTable, sc scope, alias string) bool {
	equal := sc.equals(alias)
	return slices.ContainsFunc(t.indexes, func(i *schemaIndex) bool {
		return i.unique && !slices.ContainsFunc(i.keys, func(c string) bool {
			x := equal[c]
			_, column := x.(*syntax.ColumnRef)
			_, query := x.(*syntax.SubqueryExpr)
			return x == nil || column || query
		})
	})
}

// inOrder reports whether a table is the right side of a loop join whose left side is a table
// variable with a key, and is joined by the first column of that key.
func inOrder(sc scope, table *syntax.TableName, keys map[string][][]string) bool {
	found := false
	for _, src := range sc.from {
		syntax.Inspect(src, func(n syntax.Node) bool {
			j, ok := n.(*syntax.Join)
			if !ok || j.Right != syntax.TableSource(table) || j.Hint != "LOOP" {
				return true
			}
			v, ok := j.Left.(*syntax.TableVar)
			if !ok {
				return true
			}
			for _, x := range sc.equals(aliasOf(table)) {
				c, ok := x.(*syntax.ColumnRef)
				found = found || ok && len(c.Parts) == 2 && c.Parts[0].Name == aliasOf(v) && len(keys[v.Name]) > 0 && keys[v.Name][0][0] == c.Column()
			}
			return true
		})
	}
	return found
}

// listed reports whether a change takes its rows from a table variable.
func listed(sc scope) bool {
	return slices.ContainsFunc(sc.from, func(s syntax.TableSource) bool { return len(readsVariables(s)) > 0 })
}

func TestRowsAreLockedInOrder(t *testing.T) {
	found := readTree(t).finds(unorderedLocks)
	requireKnown(t, knownOrders, found)
	bad := func(body string, want ...string) {
		t.Helper()
		requireFindings(t, unorderedLocks, "DECLARE @ids TABLE (id BIGINT NOT NULL PRIMARY KEY);\n"+body, want...)
	}
	shared = append(shared, "things")
	defer func() { shared = shared[:len(shared)-1] }()
	bad("UPDATE x SET x.note = N'' FROM jobs_internal.things AS x WHERE x.parent = @p;", "rows of things are locked in any order")
	bad("SELECT @p = COUNT(x.note) FROM jobs_internal.things AS x WITH (UPDLOCK) WHERE x.id IN (SELECT i.id FROM @ids AS i);", "rows of things are locked in any order")
	bad("SELECT @p = COUNT(x.note) FROM @ids AS i INNER JOIN jobs_internal.things AS x WITH (UPDLOCK) ON x.id = i.id;", "rows of things are locked in any order")
	bad("SELECT @p = COUNT(x.note) FROM @ids AS i INNER LOOP JOIN jobs_internal.things AS x WITH (UPDLOCK) ON x.id = i.id;")
	bad("SELECT @p = COUNT(x.note) FROM jobs_internal.things AS x WITH (UPDLOCK, READPAST) WHERE x.parent = @p;")
	bad("UPDATE x SET x.note = N'' FROM jobs_internal.things AS x WHERE x.id = @p;")
	bad("UPDATE x SET x.note = N'' FROM @ids AS i INNER JOIN jobs_internal.things AS x ON x.id = i.id;")
	bad("-- order: only one caller at a time\nUPDATE x SET x.note = N'' FROM jobs_internal.things AS x WHERE x.parent = @p;")
}

// since lists the functions that sql/ may call, with the release of SQL Server that introduced each
// (from its documentation page); all exist in Azure SQL Database. 0 stands for releases before
// 2012. Nothing newer than 2017 is allowed.
var since = map[string]int{
	"CHAR": 0, "CHARINDEX": 0, "COALESCE": 0, "COUNT": 0, "DATABASE_PRINCIPAL_ID": 0, "DATABASEPROPERTYEX": 0, "DATALENGTH": 0, "DATEADD": 0, "DATEDIFF": 0, "DATEPART": 0, "DB_ID": 0, "DB_NAME": 0,
	"HASHBYTES": 0, "ISNULL": 0, "LEFT": 0, "LEN": 0, "LOG": 0, "LOWER": 0, "LTRIM": 0, "MAX": 0, "MIN": 0, "NCHAR": 0, "NEWID": 0, "NULLIF": 0, "OBJECT_ID": 0,
	"ORIGINAL_LOGIN": 0, "PATINDEX": 0, "UNICODE": 0, "POWER": 0, "RANK": 0, "DENSE_RANK": 0, "REPLACE": 0, "REVERSE": 0, "RIGHT": 0, "ROW_NUMBER": 0, "RTRIM": 0, "SCHEMA_ID": 0, "SCOPE_IDENTITY": 0, "SUBSTRING": 0, "SUM": 0, "AVG": 0,
	"SYSUTCDATETIME": 0, "UPPER": 0, "YEAR": 0, "ABS": 0, "CEILING": 0, "FLOOR": 0, "STUFF": 0, "HAS_PERMS_BY_NAME": 0, "SERVERPROPERTY": 0, "TYPE_NAME": 0,
	"CONCAT": 2012, "FIRST_VALUE": 2012, "LAST_VALUE": 2012, "LAG": 2012, "LEAD": 2012, "DATETIMEFROMPARTS": 2012, "DATETIME2FROMPARTS": 2012,
	"IS_ROLEMEMBER": 2012, "ISJSON": 2016, "JSON_QUERY": 2016, "JSON_MODIFY": 2016, "JSON_VALUE": 2016, "STRING_SPLIT": 2016, "DATEDIFF_BIG": 2016, "STRING_ESCAPE": 2016, "COMPRESS": 2016, "DECOMPRESS": 2016, "SESSION_CONTEXT": 2016, "SESSIONPROPERTY": 0, "USER_NAME": 0, "HOST_NAME": 0, "APP_NAME": 0, "CONNECTIONPROPERTY": 0,
	"CONCAT_WS": 2017, "STRING_AGG": 2017, "TRANSLATE": 2017, "TRIM": 2017,
}

// arguments is the maximum number of arguments in SQL Server 2017 of functions that take more since
// then.
var arguments = map[string]int{"ISJSON": 1, "STRING_SPLIT": 2, "LTRIM": 1, "RTRIM": 1, "TRIM": 1}

// tooNew is rule "release", for what name binding does not check: functions, and syntax of newer
// releases. sql/ uses no catalog views and no DMVs.
func tooNew(n syntax.Node) []string {
	var found []string
	syntax.Inspect(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.TableHint:
			return false // FORCESEEK (INDEX (COLUMNS)) is no function
		case *syntax.FuncCall:
			name := strings.ToUpper(n.Name.String())
			if _, ok := since[name]; !ok {
				found = append(found, "function "+name+" is not in the list of functions with their releases")
			} else if most, ok := arguments[name]; ok && len(n.Args) > most {
				found = append(found, fmt.Sprintf("%s has more than %d arguments since SQL Server 2022", name, most))
			}
			if n.Nulls != syntax.NullsDefault {
				found = append(found, "IGNORE NULLS is of SQL Server 2022")
			}
		case *syntax.DistinctCond:
			found = append(found, "IS DISTINCT FROM is of SQL Server 2022")
		case *syntax.JSONObjectExpr, *syntax.JSONArrayExpr:
			found = append(found, "JSON_OBJECT and JSON_ARRAY are of SQL Server 2022")
		case *syntax.TrimExpr:
			found = append(found, "the long forms of TRIM are not of all releases")
		case *syntax.WindowDef:
			found = append(found, "WINDOW is of SQL Server 2022")
		case *syntax.TableName:
			if s := n.Name.Schema(); s != "" && s != "jobs" && s != "jobs_internal" && s != "jobs_rest" && !oldSystemViews[n.Name.String()] {
				found = append(found, n.Name.String()+" is of no schema of ours")
			}
		case *syntax.ExecStmt:
			if n.Module == nil || n.Module.Schema() == "" && n.Module.Last() != "sp_getapplock" && n.Module.Last() != "sp_releaseapplock" {
				found = append(found, "EXECUTE of something that is not ours")
			}
		}
		return true
	})
	return found
}

// oldSystemViews are the system views that our T-SQL reads, all of SQL Server 2005.
var oldSystemViews = map[string]bool{"sys.databases": true, "sys.database_recovery_status": true, "sys.extended_properties": true}

func TestNothingIsNewerThan2017(t *testing.T) {
	for name, release := range since {
		require.LessOrEqual(t, release, 2017, name)
	}
	r := readTree(t)
	for name, b := range r.batches {
		for _, s := range b.Stmts {
			require.Empty(t, tooNew(s), name)
		}
	}
	for text, want := range map[string]string{
		"SELECT GREATEST(1, 2);":                                "function GREATEST is not in the list of functions with their releases",
		"SELECT DATETRUNC(hour, SYSUTCDATETIME());":             "function DATETRUNC is not in the list of functions with their releases",
		"SELECT s.value FROM STRING_SPLIT(N'a', N',', 1) AS s;": "STRING_SPLIT has more than 2 arguments since SQL Server 2022",
		"SELECT ISJSON(N'1', SCALAR);":                          "ISJSON has more than 1 arguments since SQL Server 2022",
		"SELECT 1 WHERE 1 IS DISTINCT FROM 2;":                  "IS DISTINCT FROM is of SQL Server 2022",
		"SELECT s.name FROM sys.dm_os_sys_info AS s;":           "sys.dm_os_sys_info is of no schema of ours",
		"EXECUTE sp_who;":                                       "EXECUTE of something that is not ours",
	} {
		require.Equal(t, []string{want}, tooNew(parse(t, text).Stmts[0]), text)
	}
}

// lineWidth is the maximum number of columns of a line.
const lineWidth = 140

// TestLineLength: lines must fit a screen.
func TestLineLength(t *testing.T) {
	objects, err := Objects()
	require.NoError(t, err)
	for _, o := range objects {
		for i, line := range strings.Split(o.Text, "\n") {
			require.LessOrEqual(t, len([]rune(line)), lineWidth, "columns of line %d of %s", i+1, o.File)
		}
	}
}

// alertProcedures are what an evaluation of alerts executes.
var alertProcedures = []string{
	"jobs_internal.evaluate_alerts", "jobs_internal.raise_alerts", "jobs_internal.judge_ended_runs", "jobs_internal.watch_condition",
	"jobs_internal.limit_long_runs", "jobs_internal.notify_alerts", "jobs_internal.resolve_alerts", "jobs_internal.close_alerts",
}

// TestAlertsReadNoTargets: an evaluation of alerts has the time limit of one call, and the runs
// that it evaluates may have any number of targets.
func TestAlertsReadNoTargets(t *testing.T) {
	r := readTree(t)
	for _, name := range alertProcedures {
		require.Contains(t, r.source, name)
		require.False(t, strings.Contains(r.source[name], "target_executions"), name)
	}
}

// TestPurgedRunsAreHiddenInOnePlace: a purge hides runs before it marks them, so what shows runs
// reads the view of the visible ones, and does not compare the mark itself.
func TestPurgedRunsAreHiddenInOnePlace(t *testing.T) {
	may := []string{
		"jobs_internal.visible_runs", "jobs_internal.mark_purged_runs", "jobs_internal.purge_history", "jobs.sp_purge_jobhistory",
	}
	for name, text := range readTree(t).source {
		if !slices.Contains(may, name) {
			require.False(t, strings.Contains(text, "purged_at IS NULL"), "%s: want jobs_internal.visible_runs", name)
		}
	}
}

// TestReportsFindCallbacksByKeys: a run may wait for any number of reports, and each call with a
// step and a target finds its callback by keys. A column that is compared with itself when a
// parameter is NULL is never found by an index.
func TestReportsFindCallbacksByKeys(t *testing.T) {
	text := readTree(t).source["jobs.sp_complete_callback"]
	require.NotEmpty(t, text)
	require.False(t, strings.Contains(text, "= COALESCE(@"))
}

// TestLogsOfSchedulesAreCountedInTheirIndex: a page of the log of a schedule counts its runs, and a
// lookup of each run would tell whether a purge has hidden it. So the index of due runs has all
// columns that jobs_internal.visible_runs compares.
func TestLogsOfSchedulesAreCountedInTheirIndex(t *testing.T) {
	r := readTree(t)
	runs := r.tables["job_executions"]
	index := runs.indexes[slices.IndexFunc(runs.indexes, func(x *schemaIndex) bool { return x.name == "UQ_job_executions_due_at" })]
	covered := slices.Concat(index.keys, index.include)
	_, where, _ := strings.Cut(r.source["jobs_internal.visible_runs"], "\nWHERE")
	compared := regexp.MustCompile(`\be\.(\w+)`).FindAllStringSubmatch(where, -1)
	require.Greater(t, len(compared), 3)
	for _, c := range compared {
		require.Contains(t, covered, c[1])
	}
}

// runTables are the tables that rule manyRuns is about.
var runTables = []string{"job_executions"}

// manyRuns is a rule for evaluations of alerts, which come every few seconds: each read of runs
// finds them by a key, is cut by TOP, or is within a range of an index all of whose rows are
// wanted: the conditions compare all keys of the index but the last with =, and no other columns.
// In a join, a key of the range may come from a source that is read later, so there is none.
func manyRuns(r *tree, _ string, s statement) []string {
	var found []string
	for _, n := range s.own() {
		for _, sc := range scopes(n) {
			for _, src := range sources(sc.from) {
				table, ok := src.(*syntax.TableName)
				if !ok || r.table(table.Name) == nil || !slices.Contains(runTables, table.Name.Last()) {
					continue
				}
				alias, runs := aliasOf(src), r.table(table.Name)
				if q, ok := sc.node.(*syntax.Select); ok && q.Top != nil || sc.equals(alias)[runs.indexes[0].keys[0]] != nil {
					continue
				}
				var used []string
				for _, c := range sc.conditions() {
					used = append(used, columnsOf(c, alias)...)
				}
				if len(sources(sc.from)) > 1 || !slices.ContainsFunc(runs.indexes, func(i *schemaIndex) bool { return covers(i, sc.equals(alias), used) }) {
					found = append(found, fmt.Sprintf("any number of rows of %s is read", table.Name.Last()))
				}
			}
		}
	}
	return found
}

// covers reports whether the columns used are the keys of an index, and those of its filter, and
// equal has all keys but the last.
func covers(i *schemaIndex, equal map[string]syntax.Expr, used []string) bool {
	return !slices.ContainsFunc(i.keys[:len(i.keys)-1], func(c string) bool { return equal[c] == nil }) &&
		!slices.ContainsFunc(used, func(c string) bool { return !slices.Contains(i.keys, c) && !slices.Contains(i.filter, c) })
}

// TestAlertsSeekRuns: jobs have any number of runs within the period of a rule.
func TestAlertsSeekRuns(t *testing.T) {
	r := readTree(t)
	for _, name := range alertProcedures {
		for _, s := range statements(r.source[name], r.procedures[name]) {
			require.Empty(t, manyRuns(r, name, s), "%s, line %d", name, s.Pos().Line)
		}
	}
	runTables = append(runTables, "things")
	defer func() { runTables = runTables[:1] }()
	const look = "SELECT @p = COUNT(*) FROM (VALUES (1)) AS v (n) WHERE EXISTS (SELECT 1 FROM jobs_internal.things AS x WHERE "
	requireFindings(t, manyRuns, look+"x.parent = @p AND x.name > N'a' AND x.note = N'b');", "any number of rows of things is read")
	requireFindings(t, manyRuns, look+"x.parent > @p AND x.name = N'a');", "any number of rows of things is read")
	requireFindings(t, manyRuns, look+"x.parent = @p AND x.name > N'a');")
	requireFindings(t, manyRuns, strings.Replace(look, "things AS x", "things AS x INNER JOIN STRING_SPLIT(N'a,b', N',') AS k ON k.value = x.name", 1)+"x.parent = @p);",
		"any number of rows of things is read")
	requireFindings(t, manyRuns, look+"x.id = @p AND x.note = N'b');")
}

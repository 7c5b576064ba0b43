package sqlfs

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// textRules are the rules whose examples are files: testdata/rules/NAME.sql holds batches that are
// separated by GO. A batch has one comment "-- want: FINDING" for each finding that the rule must
// have in it; a batch without such comments must have no findings. Each file has both kinds.
var textRules = map[string]func(r *tree, name string) []string{
	"past":      eachStatement(skippedRows),
	"options":   callersOptions,
	"filter":    lookedUpFilters,
	"single":    eachStatement(skippedAnswer),
	"count":     countsTransactions,
	"output":    eachStatement(sentOutput),
	"wide":      wideKeys,
	"save":      eachStatement(savepoints),
	"batch":     deletesOnce,
	"rows":      eachStatement(unboundedChange),
	"reads":     readsTargets,
	"collation": eachStatement(mixedCollations),
	"set":       eachStatement(emptySets),
}

// eachStatement makes a rule of objects of one of statements.
func eachStatement(check rule) func(r *tree, name string) []string {
	return func(r *tree, name string) []string {
		if r.source[name] == "" {
			return nil // a table, user or role
		}
		var found []string
		for _, s := range statements(r.source[name], r.batches[name].Stmts[0]) {
			for _, what := range check(r, name, s) {
				found = append(found, fmt.Sprintf("line %d: %s", s.Pos().Line, what))
			}
		}
		return found
	}
}

// TestTextRules applies the rules to all objects, and to their examples.
func TestTextRules(t *testing.T) {
	r := readTree(t)
	want := regexp.MustCompile(`(?m)^-- want: (.*)$`)
	for name, check := range textRules {
		t.Run(name, func(t *testing.T) {
			for object := range r.batches {
				assert.Empty(t, check(r, object), object)
			}
			text, err := os.ReadFile(filepath.Join("testdata", "rules", name+".sql"))
			require.NoError(t, err)
			good, bad := 0, 0
			for batch := range strings.SplitSeq(string(text), "\nGO\n") {
				example := newTree(t, badTables, batch)
				wanted := []string{}
				for _, m := range want.FindAllStringSubmatch(batch, -1) {
					wanted = append(wanted, m[1])
				}
				found := []string{}
				for object := range example.batches {
					found = append(found, check(example, object)...)
				}
				line := regexp.MustCompile(`^line \d+: `)
				for i := range found {
					found[i] = line.ReplaceAllString(found[i], "")
				}
				require.ElementsMatch(t, wanted, found, batch)
				if len(wanted) > 0 {
					bad++
				} else {
					good++
				}
			}
			require.NotZero(t, good, "no example that passes")
			require.NotZero(t, bad, "no example that fails")
		})
	}
	files, err := filepath.Glob("testdata/rules/*.sql")
	require.NoError(t, err)
	for _, file := range files {
		require.Contains(t, textRules, strings.TrimSuffix(filepath.Base(file), ".sql"))
	}
}

// skippedRows is rule "past": READPAST needs a hint beside it that takes locks. With
// READ_COMMITTED_SNAPSHOT, a read at READ COMMITTED takes none, so that it would return the old
// versions of locked rows; SQL Server documents READPAST alone as not permitted there
// (https://learn.microsoft.com/sql/t-sql/queries/hints-transact-sql-table#readpast).
func skippedRows(_ *tree, _ string, s statement) []string {
	var found []string
	for _, n := range s.own() {
		syntax.Inspect(n, func(n syntax.Node) bool {
			if t, ok := n.(*syntax.TableName); ok && hint(t, "READPAST") && !hint(t, "READCOMMITTEDLOCK", "UPDLOCK", "XLOCK", "REPEATABLEREAD") {
				found = append(found, fmt.Sprintf("READPAST on %s needs READCOMMITTEDLOCK, UPDLOCK, XLOCK or REPEATABLEREAD", t.Name))
			}
			return true
		})
	}
	return found
}

// entryOptions are the options that a procedure sets for itself and what it calls: the isolation
// level, because READPAST is refused at SNAPSHOT and SERIALIZABLE (650), and because reads of
// callers at higher levels would keep their locks; and no IMPLICIT_TRANSACTIONS, because such a
// caller would keep all locks without having begun a transaction, and @@TRANCOUNT would be 0 before
// the first statement. SQL Server restores them when the procedure returns
// (https://learn.microsoft.com/sql/t-sql/statements/set-transaction-isolation-level-transact-sql#remarks,
// https://learn.microsoft.com/sql/t-sql/statements/set-statements-transact-sql).
const entryOptions = `
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
`

// publicOptions are those of a procedure of the schema jobs, which people call: ROWCOUNT, which
// they set for what they look at, would limit the rows that its statements change
// (https://learn.microsoft.com/sql/t-sql/statements/set-rowcount-transact-sql).
var publicOptions = strings.Replace(entryOptions, "    SET IMPLICIT", "    SET ROWCOUNT 0;\n    SET IMPLICIT", 1)

// granted are the procedures that a role may execute, by themselves and not with a schema.
var granted = regexp.MustCompile(`GRANT EXECUTE ON OBJECT::(\S+) TO`)

// callersOptions is rule "options": a procedure that clients call begins with entryOptions, and one
// of the schema jobs with publicOptions.
func callersOptions(r *tree, name string) []string {
	if r.procedures[name] == nil {
		return nil
	}
	options := entryOptions
	if strings.HasPrefix(name, "jobs.") {
		options = publicOptions
	} else if !slices.Contains(r.granted, name) {
		return nil
	}
	if _, body, _ := strings.Cut(r.source[name], "\nBEGIN"); !strings.HasPrefix(body, options) {
		return []string{name + " does not begin with the options of procedures that clients call"}
	}
	return nil
}

// lookedUpFilters is rule "filter": a column that the filter of an index compares with NULL is in
// the index. SQL Server does not conclude from the filter that the column is NULL: it reads the row
// in the clustered index, for each key, and evaluates the predicate again
// (https://answers.sqlperformance.com/questions/2882/why-doesnt-sql-server-use-this-filtered-index-for.html).
// The column costs little in the index: with IS NULL it is always NULL.
func lookedUpFilters(r *tree, name string) []string {
	short, _ := strings.CutPrefix(name, "jobs_internal.")
	t := r.tables[short]
	if t == nil {
		return nil
	}
	var found []string
	for _, i := range t.indexes {
		for _, c := range i.nulls {
			if !t.has(i, c) {
				found = append(found, fmt.Sprintf("%s lacks %s, which its filter compares with NULL", i.name, c))
			}
		}
	}
	return found
}

// skippedAnswer is rule "single": READPAST on a table with one row, or inside EXISTS, makes a
// locked row look like one that does not exist, silently and for as long as the other transaction
// lasts. A comment "-- past: reason" says why that is right.
func skippedAnswer(r *tree, _ string, s statement) []string {
	if s.answer("past") != "" {
		return nil
	}
	var found []string
	for _, n := range s.own() {
		syntax.Inspect(n, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.ExistsCond:
				if skipsRows(n) {
					found = append(found, "EXISTS skips locked rows")
					return false
				}
			case *syntax.TableName:
				if t := r.table(n.Name); t != nil && t.single && hint(n, "READPAST") {
					found = append(found, fmt.Sprintf("the only row of %s is skipped while it is locked", t.name))
				}
			}
			return true
		})
	}
	return found
}

// skipsRows reports whether a table below n has the hint READPAST.
func skipsRows(n syntax.Node) bool {
	skips := false
	syntax.Inspect(n, func(n syntax.Node) bool {
		t, ok := n.(*syntax.TableName)
		skips = skips || ok && hint(t, "READPAST")
		return true
	})
	return skips
}

// countsTransactions is rule "count": a procedure that asks for @@TRANCOUNT turns
// IMPLICIT_TRANSACTIONS off first. With it on, @@TRANCOUNT is 0 until the first statement, and then
// a transaction is open
// (https://learn.microsoft.com/sql/t-sql/statements/set-implicit-transactions-transact-sql).
func countsTransactions(r *tree, name string) []string {
	p := r.procedures[name]
	if p == nil || strings.Contains(r.source[name], "\n    SET IMPLICIT_TRANSACTIONS OFF;\n") {
		return nil
	}
	var found []string
	syntax.Inspect(p, func(n syntax.Node) bool {
		if g, ok := n.(*syntax.GlobalRef); ok && g.Name == "@@TRANCOUNT" {
			found = append(found, fmt.Sprintf("line %d: @@TRANCOUNT while IMPLICIT_TRANSACTIONS may be on", g.Pos().Line))
		}
		return true
	})
	return found
}

// sentOutput is rule "output": OUTPUT has INTO. Without it, a statement fails (334) as soon as
// replication or a tool of auditing adds a trigger to the table
// (https://learn.microsoft.com/sql/t-sql/queries/output-clause-transact-sql#triggers).
func sentOutput(_ *tree, _ string, s statement) []string {
	sends := false
	switch s := s.Stmt.(type) {
	case *syntax.InsertStmt:
		sends = s.Output != nil
	case *syntax.UpdateStmt:
		sends = s.Output != nil
	case *syntax.DeleteStmt:
		sends = s.Output != nil
	}
	if sends {
		return []string{"OUTPUT without INTO"}
	}
	return nil
}

// wideKeys is rule "wide": the primary key of a table variable has at most 900 bytes, and any
// other key 1,700. Otherwise SQL Server warns when the procedure is created (1945), and fails for
// a longer key (1946)
// (https://learn.microsoft.com/sql/sql-server/maximum-capacity-specifications-for-sql-server).
func wideKeys(r *tree, name string) []string {
	p := r.procedures[name]
	if p == nil {
		return nil
	}
	var found []string
	syntax.Inspect(p, func(n syntax.Node) bool {
		d, ok := n.(*syntax.VarDecl)
		if !ok || d.Table == nil {
			return true
		}
		size := map[string]int{}
		for _, c := range d.Table.Columns {
			size[c.Name.Name] = keySize(c.Type)
		}
		check := func(columns []string, primary bool) {
			sum, most := 0, 1700
			if primary {
				most = 900
			}
			for _, c := range columns {
				sum += size[c]
			}
			if sum > most {
				found = append(found, fmt.Sprintf("line %d: a key of %s may have %d bytes", d.Pos().Line, d.Name, sum))
			}
		}
		for _, c := range d.Table.Columns {
			for _, k := range c.Constraints {
				if k, ok := k.(*syntax.KeyConstraint); ok {
					check([]string{c.Name.Name}, k.Primary)
				}
			}
		}
		for _, k := range d.Table.Constraints {
			if k, ok := k.(*syntax.KeyConstraint); ok {
				check(indexColumns(k.Columns), k.Primary)
			}
		}
		return true
	})
	return found
}

// savepoints is rule "save": SAVE TRANSACTION is not possible in a distributed transaction (627),
// to which TransactionScope and linked servers promote the transaction of a caller. A comment "--
// save: reason" says why there is no other way
// (https://learn.microsoft.com/sql/t-sql/language-elements/save-transaction-transact-sql#remarks).
func savepoints(_ *tree, _ string, s statement) []string {
	if _, ok := s.Stmt.(*syntax.SaveTranStmt); ok && s.answer("save") == "" {
		return []string{"SAVE TRANSACTION"}
	}
	return nil
}

// deletesOnce is rule "batch": DELETE TOP is in a loop. Otherwise more may come than it deletes. A
// comment "-- rows: reason" says who calls it again.
func deletesOnce(r *tree, name string) []string {
	p := r.procedures[name]
	if p == nil {
		return nil
	}
	looped := map[syntax.Stmt]bool{}
	syntax.Inspect(p, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.WhileStmt); ok {
			syntax.Inspect(w.Body, func(n syntax.Node) bool {
				if d, ok := n.(*syntax.DeleteStmt); ok {
					looped[d] = true
				}
				return true
			})
		}
		return true
	})
	var found []string
	for _, s := range statements(r.source[name], p) {
		d, ok := s.Stmt.(*syntax.DeleteStmt)
		if ok && d.Top != nil && !looped[d] && s.answer("rows") == "" {
			found = append(found, fmt.Sprintf("line %d: DELETE TOP without a loop", d.Pos().Line))
		}
	}
	return found
}

// keySize returns the maximum number of bytes of a type in the key of an index. Types of fixed size
// count as 16 bytes, the size of the largest.
func keySize(t *syntax.TypeRef) int {
	length := 1
	if len(t.Args) > 0 {
		length = t.Args[0]
	}
	switch strings.ToUpper(t.Name.Last()) {
	case "NVARCHAR", "NCHAR":
		return 2 * length
	case "VARCHAR", "CHAR", "VARBINARY", "BINARY":
		return length
	}
	return 16
}

// unboundedChange is rule "rows": a statement that changes rows of a table whose locks do not
// escalate has a bound. Otherwise its locks may use up the memory of the lock manager (1204), and
// its rollback takes as long as itself: TOP, a list in a table variable, one row of a key, or a
// comment "-- rows: bound"
// (https://learn.microsoft.com/sql/t-sql/statements/alter-table-transact-sql#lock_escalation).
func unboundedChange(r *tree, _ string, s statement) []string {
	var target syntax.TableSource
	switch x := s.Stmt.(type) {
	case *syntax.UpdateStmt:
		target = x.Target
	case *syntax.DeleteStmt:
		target = x.Target
	case *syntax.InsertStmt:
		if _, query := x.Source.(*syntax.InsertQuery); query {
			target = x.Target
		}
	}
	name, ok := target.(*syntax.TableName)
	if !ok || s.answer("rows") != "" || s.answer("order") == "one row" {
		return nil
	}
	table := r.table(name.Name)
	for _, sc := range scopes(s.Stmt) {
		for _, src := range sources(sc.from) {
			if n, ok := src.(*syntax.TableName); ok && sc.target != "" && aliasOf(src) == sc.target {
				if table = r.table(n.Name); table != nil && oneRow(table, sc, aliasOf(src)) {
					return nil
				}
			}
		}
	}
	if table == nil || !table.rowLocks {
		return nil
	}
	bounded := len(readsVariables(s.Stmt)) > 0
	syntax.Inspect(s.Stmt, func(n syntax.Node) bool {
		_, top := n.(*syntax.Top)
		bounded = bounded || top
		return true
	})
	if bounded {
		return nil
	}
	return []string{"any number of rows of " + table.name}
}

// manyRows are the tables whose rows grow with the targets of a run and their attempts, and the
// table of the examples.
var manyRows = []string{"target_executions", "task_executions", "task_messages", "callbacks", "things"}

// readsTargets is rule "reads": what runs under jobagent.advance, or in the transaction of a public
// procedure, reads a bounded number of targets and attempts: by a key, within EXISTS, or by TOP. A
// list of steps or runs is no bound. A comment "-- reads: bound" says why there are few.
func readsTargets(r *tree, name string) []string {
	p := r.procedures[name]
	if p == nil {
		return nil
	}
	if r.passed == nil {
		r.passed = r.under("jobs_internal.advance")
	}
	var begin, end int32 // lines of the transaction of a public procedure
	if strings.HasPrefix(name, "jobs.") {
		syntax.Inspect(p, func(n syntax.Node) bool {
			switch x := n.(type) {
			case *syntax.BeginTranStmt:
				begin = cmp.Or(begin, x.Pos().Line)
			case *syntax.CommitStmt:
				end = x.Pos().Line
			}
			return true
		})
		if begin == 0 {
			return nil
		}
	} else if r.procedures["jobs_internal.advance"] != nil && !slices.Contains(r.passed, name) {
		return nil
	}
	var found []string
	for _, s := range statements(r.source[name], p) {
		if line := s.Pos().Line; s.answer("reads") != "" || begin > 0 && (line < begin || line > end) {
			continue
		}
		for _, n := range s.own() {
			one := map[syntax.Node]bool{} // within EXISTS
			syntax.Inspect(n, func(n syntax.Node) bool {
				if x, ok := n.(*syntax.ExistsCond); ok {
					syntax.Inspect(x, func(n syntax.Node) bool {
						one[n] = true
						return true
					})
				}
				return true
			})
			for _, sc := range scopes(n) {
				if q, ok := sc.node.(*syntax.Select); ok && (q.Top != nil || one[q]) {
					continue
				}
				for _, src := range sources(sc.from) {
					table, ok := src.(*syntax.TableName)
					if !ok || r.table(table.Name) == nil || !slices.Contains(manyRows, table.Name.Last()) {
						continue
					}
					equal := sc.equals(aliasOf(src))
					if !slices.ContainsFunc(r.table(table.Name).indexes, func(i *schemaIndex) bool {
						return i.unique && !slices.ContainsFunc(i.keys, func(c string) bool { return equal[c] == nil })
					}) {
						found = append(found, fmt.Sprintf("line %d: any number of rows of %s is read", s.Pos().Line, table.Name.Last()))
					}
				}
			}
		}
	}
	return found
}

// under returns a procedure and all that it calls.
func (r *tree) under(name string) []string {
	list := []string{name}
	for i := 0; i < len(list); i++ {
		syntax.Inspect(r.procedures[list[i]], func(n syntax.Node) bool {
			e, ok := n.(*syntax.ExecStmt)
			if ok && e.Module != nil && r.procedures[e.Module.String()] != nil && !slices.Contains(list, e.Module.String()) {
				list = append(list, e.Module.String())
			}
			return true
		})
	}
	return list
}

// emptySets is rule "set": a set of characters in a pattern has characters. In other languages, a ]
// directly after the [ is one of them; in SQL Server it ends the set, and a pattern with an empty
// set matches nothing: PATINDEX(N'%[]]%', N'a]') is 0
// (https://learn.microsoft.com/sql/t-sql/language-elements/like-transact-sql). The rule reads the
// patterns of LIKE and PATINDEX, and other texts between two %, which may become patterns.
func emptySets(_ *tree, _ string, s statement) []string {
	var found []string
	seen := map[*syntax.Literal]bool{}
	check := func(n syntax.Node, always bool) {
		syntax.Inspect(n, func(n syntax.Node) bool {
			l, ok := n.(*syntax.Literal)
			if !ok || seen[l] || l.Kind != syntax.StringLit && l.Kind != syntax.NStringLit {
				return true
			}
			if always || strings.HasPrefix(l.Text, "%") && strings.HasSuffix(l.Text, "%") {
				seen[l] = true
				if emptySet.MatchString(l.Text) {
					found = append(found, fmt.Sprintf("the pattern %s has an empty set", l.Text))
				}
			}
			return true
		})
	}
	for _, n := range s.own() {
		syntax.Inspect(n, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.LikeCond:
				check(n.Pattern, true)
			case *syntax.FuncCall:
				if strings.EqualFold(n.Name.String(), "PATINDEX") && len(n.Args) > 0 {
					check(n.Args[0], true)
				}
			}
			return true
		})
		check(n, false)
	}
	return found
}

// emptySet matches a pattern that has an empty set after sets that are not.
var emptySet = regexp.MustCompile(`^(?s:[^\[]|\[\^?[^\]^][^\]]*\])*\[\^?\]`)

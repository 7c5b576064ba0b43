package sqlfs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
)

// schemaIndex is an index of a table, or the key of a constraint.
type schemaIndex struct {
	name      string
	unique    bool
	clustered bool
	keys      []string
	include   []string
	filter    []string // columns in its WHERE
	nulls     []string // columns that its WHERE compares with IS NULL or IS NOT NULL
}

// schemaForeignKey is a foreign key of a table.
type schemaForeignKey struct {
	columns []string
	parent  string // table without schema
	cascade bool
}

// schemaTable is a table of schema jobs_internal.
type schemaTable struct {
	name    string
	indexes []*schemaIndex // the clustered one first
	foreign []*schemaForeignKey
	single  bool // a CHECK permits one row: id = 1
	// rowLocks is set if locks on rows do not become a lock on the table.
	rowLocks bool
}

// clustered is the key of the clustered index, which is also in each nonclustered one.
func (t *schemaTable) clustered() []string { return t.indexes[0].keys }

// covers reports whether the indexes together have all of these columns, so that SQL Server need
// not read the clustered index. A column that the filter of an index compares with a value is known
// without reading it; one that the filter compares with NULL is read again for each row, unless the
// index has it (rule "filter").
func (t *schemaTable) covers(columns []string, indexes ...*schemaIndex) bool {
	return !slices.ContainsFunc(columns, func(c string) bool {
		return !slices.ContainsFunc(indexes, func(i *schemaIndex) bool {
			return t.has(i, c) || slices.Contains(i.filter, c) && !slices.Contains(i.nulls, c)
		})
	})
}

// has reports whether an index has a column: in its key, included, or as part of the clustered key.
func (t *schemaTable) has(i *schemaIndex, column string) bool {
	return slices.Contains(i.keys, column) || slices.Contains(i.include, column) || slices.Contains(t.clustered(), column)
}

// tree holds the parsed files of sql/.
type tree struct {
	tables     map[string]*schemaTable                // by name without schema
	views      map[string]*syntax.CreateViewStmt      // by name with schema
	procedures map[string]*syntax.CreateProcedureStmt // by name with schema
	source     map[string]string                      // texts of views and procedures
	batches    map[string]*syntax.Batch               // all objects, by name with schema
	granted    []string                               // procedures that a role may execute by name
	passed     []string                               // procedures that run under jobagent.advance; nil: not known yet
	called     map[string][]string                    // procedures by the name of the one that calls them
}

// parse parses one batch.
func parse(t *testing.T, text string) *syntax.Batch {
	t.Helper()
	b, err := parser.Parse(text, parser.DefaultOptions)
	require.NoError(t, err, text)
	return b
}

// readTree parses all objects of a fresh install.
func readTree(t *testing.T) *tree {
	t.Helper()
	objects, err := Objects()
	require.NoError(t, err)
	texts := make([]string, 0, len(objects))
	for _, o := range objects {
		texts = append(texts, o.Text)
	}
	return newTree(t, texts...)
}

// neverEscalated matches the statement by which locks on rows of a table stay such.
var neverEscalated = regexp.MustCompile(`ALTER TABLE jobs_internal\.(\w+) SET \(LOCK_ESCALATION = DISABLE\)`)

// newTree parses the given batches.
func newTree(t *testing.T, texts ...string) *tree {
	t.Helper()
	r := &tree{
		tables: map[string]*schemaTable{}, views: map[string]*syntax.CreateViewStmt{}, procedures: map[string]*syntax.CreateProcedureStmt{},
		source: map[string]string{}, batches: map[string]*syntax.Batch{}, called: map[string][]string{},
	}
	for _, text := range texts {
		for _, m := range granted.FindAllStringSubmatch(text, -1) {
			r.granted = append(r.granted, m[1])
		}
		b := parse(t, text)
		name := "?"
		for _, s := range b.Stmts {
			switch s := s.(type) {
			case *syntax.CreateTableStmt:
				name = s.Name.String()
				r.addTable(s)
			case *syntax.CreateIndexStmt:
				table := r.tables[s.Table.Last()]
				table.indexes = append(table.indexes, newIndex(s.Def))
			case *syntax.CreateViewStmt:
				name = s.Name.String()
				r.views[name], r.source[name] = s, text
			case *syntax.CreateProcedureStmt:
				name = s.Name.String()
				r.procedures[name], r.source[name], r.called[name] = s, text, calls(s)
			}
		}
		for _, m := range neverEscalated.FindAllStringSubmatch(text, -1) {
			r.tables[m[1]].rowLocks = true
		}
		r.batches[name] = b
	}
	return r
}

// newIndex converts CREATE INDEX.
func newIndex(d *syntax.IndexDef) *schemaIndex {
	i := &schemaIndex{name: d.Name.Name, unique: d.Unique, keys: indexColumns(d.Columns)}
	for _, c := range d.Include {
		i.include = append(i.include, c.Name)
	}
	syntax.Inspect(d.Where, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.ColumnRef); ok {
			i.filter = append(i.filter, c.Column())
		}
		if c, ok := n.(*syntax.IsNullCond); ok {
			if x, ok := c.X.(*syntax.ColumnRef); ok {
				i.nulls = append(i.nulls, x.Column())
			}
		}
		return true
	})
	return i
}

// indexColumns returns the columns of an index's key.
func indexColumns(list []*syntax.IndexColumn) []string {
	names := make([]string, 0, len(list))
	for _, c := range list {
		names = append(names, c.Name.Name)
	}
	return names
}

// addTable converts CREATE TABLE. All constraints in sql/ are table constraints.
func (r *tree) addTable(s *syntax.CreateTableStmt) {
	table := &schemaTable{name: s.Name.Last()}
	for _, c := range s.Def.Constraints {
		switch c := c.(type) {
		case *syntax.KeyConstraint:
			i := &schemaIndex{name: c.ConstraintName().Name, unique: true, keys: indexColumns(c.Columns)}
			i.clustered = c.Clustering == syntax.Clustered || c.Primary && c.Clustering == syntax.ClusteringDefault
			if i.clustered {
				table.indexes = slices.Insert(table.indexes, 0, i)
			} else {
				table.indexes = append(table.indexes, i)
			}
		case *syntax.ForeignKeyConstraint:
			f := &schemaForeignKey{parent: c.RefTable.Last(), cascade: c.OnDelete == syntax.Cascade}
			for _, col := range c.Columns {
				f.columns = append(f.columns, col.Name)
			}
			table.foreign = append(table.foreign, f)
		case *syntax.CheckConstraint:
			if x, ok := c.Cond.(*syntax.CompareCond); ok && x.Op == syntax.OpEQ {
				_, column := x.X.(*syntax.ColumnRef)
				one, literal := x.Y.(*syntax.Literal)
				table.single = table.single || column && literal && one.Text == "1"
			}
		}
	}
	r.tables[table.name] = table
}

// table returns the table of schema jobs_internal with this name; nil if there is none.
func (r *tree) table(n *syntax.ObjectName) *schemaTable {
	if n.Schema() != "jobs_internal" {
		return nil
	}
	return r.tables[n.Last()]
}

// hint reports whether a table has one of these hints.
func hint(n *syntax.TableName, names ...string) bool {
	return slices.ContainsFunc(n.Hints, func(h *syntax.TableHint) bool { return slices.Contains(names, h.Name) })
}

// sources returns the tables, table variables and subqueries of a FROM clause, including those in
// joins.
func sources(from []syntax.TableSource) []syntax.TableSource {
	var list []syntax.TableSource
	for _, s := range from {
		switch s := s.(type) {
		case *syntax.Join:
			list = append(list, sources([]syntax.TableSource{s.Left, s.Right})...)
		case *syntax.ParenTable:
			list = append(list, sources([]syntax.TableSource{s.X})...)
		default:
			list = append(list, s)
		}
	}
	return list
}

// aliasOf returns the name of a source in its scope.
func aliasOf(s syntax.TableSource) string {
	switch s := s.(type) {
	case *syntax.TableName:
		if s.Alias.Name != "" {
			return s.Alias.Name
		}
		return s.Name.Last()
	case *syntax.TableVar:
		if s.Alias.Name != "" {
			return s.Alias.Name
		}
		return s.Name
	case *syntax.DerivedTable:
		return s.Alias.Name
	}
	return ""
}

// inScope calls f for the nodes below n in which alias has the same meaning as at n. It skips
// subqueries that use the alias for another source.
func inScope(n syntax.Node, alias string, f func(syntax.Node)) {
	syntax.Inspect(n, func(x syntax.Node) bool {
		if s, ok := x.(*syntax.Select); ok && x != n && slices.ContainsFunc(sources(s.From), func(t syntax.TableSource) bool { return aliasOf(t) == alias }) {
			return false
		}
		f(x)
		return true
	})
}

// columnsOf returns the columns of alias that n uses, each once, sorted by name.
func columnsOf(n syntax.Node, alias string) []string {
	var used []string
	inScope(n, alias, func(x syntax.Node) {
		if c, ok := x.(*syntax.ColumnRef); ok && len(c.Parts) == 2 && c.Parts[0].Name == alias {
			used = append(used, c.Column())
		}
	})
	slices.Sort(used)
	return slices.Compact(used)
}

// scope is a SELECT, UPDATE or DELETE with its tables.
type scope struct {
	node   syntax.Node
	from   []syntax.TableSource
	where  syntax.Cond
	target string // alias that UPDATE or DELETE changes; "" for SELECT
}

// scopes returns the scopes of n, including those of subqueries.
func scopes(n syntax.Node) []scope {
	var list []scope
	syntax.Inspect(n, func(x syntax.Node) bool {
		switch s := x.(type) {
		case *syntax.Select:
			list = append(list, scope{node: s, from: s.From, where: s.Where})
		case *syntax.UpdateStmt:
			list = append(list, scope{node: s, from: s.From, where: s.Where, target: aliasOf(s.Target)})
		case *syntax.DeleteStmt:
			list = append(list, scope{node: s, from: s.From, where: s.Where, target: aliasOf(s.Target)})
		}
		return true
	})
	return list
}

// conditions returns the join and filter conditions of a scope, split at AND.
func (s scope) conditions() []syntax.Cond { return s.conditionsOn("") }

// conditionsOn returns the conditions that may restrict the rows of alias: those of a left join do
// not restrict its left side. An empty alias means all conditions.
func (s scope) conditionsOn(alias string) []syntax.Cond {
	var list []syntax.Cond
	var split func(c syntax.Cond)
	split = func(c syntax.Cond) {
		switch c := c.(type) {
		case nil:
		case *syntax.ParenCond:
			split(c.X)
		case *syntax.LogicCond:
			if c.Op != syntax.OpAnd {
				list = append(list, c)
				return
			}
			split(c.X)
			split(c.Y)
		default:
			list = append(list, c)
		}
	}
	var joins func(t syntax.TableSource)
	joins = func(t syntax.TableSource) {
		switch t := t.(type) {
		case *syntax.Join:
			joins(t.Left)
			joins(t.Right)
			isLeft := func(x syntax.TableSource) bool { return alias != "" && aliasOf(x) == alias }
			if t.On != nil && (t.Kind != syntax.LeftJoin || !slices.ContainsFunc(sources([]syntax.TableSource{t.Left}), isLeft)) {
				split(t.On)
			}
		case *syntax.ParenTable:
			joins(t.X)
		}
	}
	for _, t := range s.from {
		joins(t)
	}
	if s.where != nil {
		split(s.where)
	}
	return list
}

// equals returns the columns of alias that a scope compares with =, and the expressions with which
// it compares them.
func (s scope) equals(alias string) map[string]syntax.Expr { return equalsIn(s.conditions(), alias) }

// equalsIn is equals of some conditions.
func equalsIn(conditions []syntax.Cond, alias string) map[string]syntax.Expr {
	found := map[string]syntax.Expr{}
	column := func(x syntax.Expr) string {
		if c, ok := x.(*syntax.ColumnRef); ok && len(c.Parts) == 2 && c.Parts[0].Name == alias {
			return c.Column()
		}
		return ""
	}
	for _, c := range conditions {
		if c, ok := c.(*syntax.CompareCond); ok && c.Op == syntax.OpEQ {
			if name := column(c.X); name != "" {
				found[name] = c.Y
			}
			if name := column(c.Y); name != "" {
				found[name] = c.X
			}
		}
	}
	return found
}

// statement is a statement that contains no other one, with its comments.
type statement struct {
	syntax.Stmt
	comments string // inside it, and in the lines directly above it
}

// statements returns the statements of a procedure's body.
func statements(source string, n syntax.Node) []statement {
	var list []statement
	syntax.Inspect(n, func(x syntax.Node) bool {
		switch s := x.(type) {
		case *syntax.CreateProcedureStmt, *syntax.BlockStmt, *syntax.TryStmt:
		case *syntax.IfStmt:
			list = append(list, statement{Stmt: s, comments: commentsOf(source, s.Start(), s.Then.Start())})
		case *syntax.WhileStmt:
			list = append(list, statement{Stmt: s, comments: commentsOf(source, s.Start(), s.Body.Start())})
		case syntax.Stmt:
			list = append(list, statement{Stmt: s, comments: commentsOf(source, s.Start(), s.End())})
		}
		return true
	})
	return list
}

// commentsOf returns the comments between two offsets, after the statement on its last line, and in
// the lines directly above.
func commentsOf(source string, start, end int) string {
	var comments []string
	above := strings.Split(source[:start], "\n")
	for i := len(above) - 2; i >= 0 && strings.HasPrefix(strings.TrimSpace(above[i]), "--"); i-- {
		comments = append(comments, strings.TrimSpace(above[i]))
	}
	slices.Reverse(comments)
	rest, _, _ := strings.Cut(source[end:], "\n")
	for line := range strings.Lines(source[start:end] + rest) {
		if _, comment, ok := strings.Cut(line, "--"); ok {
			comments = append(comments, "-- "+strings.TrimSpace(comment))
		}
	}
	return strings.Join(comments, "\n")
}

// answer returns the text of the statement's comments after a prefix such as "-- index: ", up to a
// comma; "" if there is none.
func (s statement) answer(word string) string {
	_, text, _ := strings.Cut("\n"+s.comments, "\n-- "+word+": ")
	text, _, _ = strings.Cut(text, "\n")
	text, _, _ = strings.Cut(text, ",")
	return text
}

// own returns the nodes of a statement without the statements inside IF and WHILE.
func (s statement) own() []syntax.Node {
	switch x := s.Stmt.(type) {
	case *syntax.IfStmt:
		return []syntax.Node{x.Cond}
	case *syntax.WhileStmt:
		return []syntax.Node{x.Cond}
	}
	return []syntax.Node{s.Stmt}
}

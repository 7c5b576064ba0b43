package sqlfs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// The lock model: which locks a procedure takes on which index, in which order, and for which it waits, as far as texts tell. It knows SQL Server's
// READ COMMITTED with READ_COMMITTED_SNAPSHOT, in which plain reads neither wait nor lock, or without
// (https://learn.microsoft.com/sql/relational-databases/sql-server-transaction-locking-and-row-versioning-guide). Both branches of IF are taken, bodies of
// WHILE twice, procedures that are called and views are part of the caller. It does not know rows: two accesses of one table may be of the same
// row unless they are known to be of different ones (see apart).

// lockMode is how a row is locked.
type lockMode byte

// Modes of locks; only shared ones get along with each other, and update locks with shared ones.
const (
	modeS lockMode = 'S'
	modeU lockMode = 'U'
	modeX lockMode = 'X'
)

// conflicts says whether a lock that is wanted has to wait for one that is held.
func conflicts(wanted, held lockMode) bool {
	return wanted == modeX || held == modeX || wanted == modeU && held == modeU
}

// access is what a statement does to the rows of one table, by one index.
type access struct {
	procedure string // in whose text it stands
	line      int32
	table     string
	index     string
	mode      lockMode
	kind      string   // read, hint, update, delete, insert, foreign key
	kept      bool     // until the transaction ends
	waits     bool     // for others' locks; those of READPAST do not, nor do those of new rows
	one       bool     // one row, by a key
	own       lockMode // how the transaction has locked the same rows before; 0: it has not, as far as is known
	under     []string // application locks that are held
}

// String is the access as the graph shows it.
func (a *access) String() string {
	return fmt.Sprintf("%s(%s) %c", a.table, a.index, a.mode)
}

// where is the statement that accesses.
func (a *access) where() string { return fmt.Sprintf("%s:%d", a.procedure, a.line) }

// wait is an access that has to wait while the transaction holds locks.
type wait struct {
	held   []*access
	wanted *access
}

// lockState is what a transaction holds at some point.
type lockState struct {
	held   []*access
	under  []string
	depth  int                            // of BEGIN TRANSACTION
	listed map[string]map[string]lockMode // by variable: tables whose rows it names that are locked already, and how
}

// clone copies the state for a branch.
func (s *lockState) clone() *lockState {
	c := &lockState{held: slices.Clone(s.held), under: slices.Clone(s.under), depth: s.depth, listed: map[string]map[string]lockMode{}}
	for v, tables := range s.listed {
		c.listed[v] = maps.Clone(tables)
	}
	return c
}

// lockWalk follows one procedure from its beginning.
type lockWalk struct {
	*tree
	snapshot bool // READ_COMMITTED_SNAPSHOT is on
	state    *lockState
	waits    []wait
	kept     []*access // everything that was ever kept
	calls    []string
}

// walkLocks follows a procedure. open says that the caller has a transaction, which stays open.
func (r *tree) walkLocks(name string, snapshot, open bool) *lockWalk {
	w := &lockWalk{tree: r, snapshot: snapshot, state: &lockState{listed: map[string]map[string]lockMode{}}}
	if open {
		w.state.depth = 1
	}
	w.procedure(name, map[string]map[string]lockMode{})
	return w
}

// procedure follows a call. The variables of a procedure are its own; listed are its arguments.
func (w *lockWalk) procedure(name string, listed map[string]map[string]lockMode) {
	if slices.Contains(w.calls, name) {
		return
	}
	w.calls = append(w.calls, name)
	outer := w.state.listed
	w.state.listed = listed
	w.statements(w.procedures[name].Body)
	w.state.listed = outer
	w.calls = w.calls[:len(w.calls)-1]
}

// statements follows a list of statements, and says whether it ends with RETURN or THROW.
func (w *lockWalk) statements(list []syntax.Stmt) bool {
	for _, s := range list {
		if w.statement(s) {
			return true
		}
	}
	return false
}

// statement follows one statement, and says whether nothing behind it runs.
func (w *lockWalk) statement(s syntax.Stmt) bool {
	switch s := s.(type) {
	case *syntax.BlockStmt:
		return w.statements(s.Body)
	case *syntax.IfStmt:
		if inTransaction(s.Cond) {
			return w.state.depth > 0 && w.statement(s.Then)
		}
		w.reads(s.Cond)
		before := w.state.clone()
		ended := w.statement(s.Then)
		after := w.state
		w.state = before
		other := false
		if s.Else != nil {
			w.state = before.clone()
			other = w.statement(s.Else)
		}
		switch {
		case ended && other:
			return true
		case other:
			w.state = after
		case !ended:
			w.merge(after)
		}
	case *syntax.WhileStmt:
		before := w.state.clone()
		for range 2 {
			w.reads(s.Cond)
			if w.statement(s.Body) {
				w.state = before.clone()
				break
			}
		}
	case *syntax.ReturnStmt, *syntax.ThrowStmt:
		return true
	case *syntax.BeginTranStmt:
		w.state.depth++
	case *syntax.CommitStmt:
		if w.state.depth--; w.state.depth == 0 {
			w.release()
		}
	case *syntax.ExecStmt:
		w.execute(s)
	case *syntax.InsertStmt:
		if e, ok := s.Source.(*syntax.InsertExec); ok {
			w.execute(e.Exec)
		}
		w.change(s)
	default:
		w.change(s)
	}
	return false
}

// inTransaction says whether a condition is @@TRANCOUNT > 0.
func inTransaction(c syntax.Cond) bool {
	x, ok := c.(*syntax.CompareCond)
	if !ok || x.Op != syntax.OpGT {
		return false
	}
	g, ok := x.X.(*syntax.GlobalRef)
	return ok && g.Name == "@@TRANCOUNT"
}

// merge joins what the branches of an IF hold.
func (w *lockWalk) merge(other *lockState) {
	for _, a := range other.held {
		if !slices.Contains(w.state.held, a) {
			w.state.held = append(w.state.held, a)
		}
	}
	for _, name := range other.under {
		if !slices.Contains(w.state.under, name) {
			w.state.under = append(w.state.under, name)
		}
	}
	w.state.depth = max(w.state.depth, other.depth)
	for v, tables := range other.listed {
		if w.state.listed[v] == nil {
			w.state.listed[v] = tables
		} else {
			maps.Copy(w.state.listed[v], tables)
		}
	}
}

// release is the end of a transaction.
func (w *lockWalk) release() {
	w.state.held, w.state.under = nil, nil
}

// execute follows EXECUTE: a procedure of ours, or an application lock.
func (w *lockWalk) execute(s *syntax.ExecStmt) {
	if s.Module == nil {
		return
	}
	if s.Module.Last() == "sp_getapplock" {
		for _, a := range s.Args {
			if l, ok := a.Value.(*syntax.Literal); ok && a.Name == "@Resource" {
				w.state.under = append(w.state.under, l.Text)
			}
		}
		return
	}
	if w.procedures[s.Module.String()] != nil {
		listed := map[string]map[string]lockMode{}
		for _, a := range s.Args {
			if v, ok := a.Value.(*syntax.VarRef); ok && a.Name != "" && w.state.listed[v.Name] != nil {
				listed[a.Name] = maps.Clone(w.state.listed[v.Name])
			}
		}
		w.procedure(s.Module.String(), listed)
	}
}

// reads takes account of the subqueries of an expression or condition.
func (w *lockWalk) reads(n syntax.Node) {
	var list []*access
	for _, sc := range scopes(n) {
		list = append(list, w.scope(sc, nil)...)
	}
	w.take(list)
}

// change takes account of a statement that holds no others.
func (w *lockWalk) change(s syntax.Stmt) {
	safe := w.safe(s)
	var list []*access
	for _, sc := range scopes(s) {
		list = append(list, w.scope(sc, safe)...)
	}
	if i, ok := s.(*syntax.InsertStmt); ok {
		if n, ok := i.Target.(*syntax.TableName); ok {
			if t := w.table(n.Name); t != nil {
				list = append(list, w.insert(t, s, safe)...)
			}
		}
	}
	w.take(list)
	w.remember(s, safe)
}

// take adds the accesses of one statement to what the transaction has done. Locks that the statement itself keeps are held while it goes on.
func (w *lockWalk) take(list []*access) {
	for _, a := range list {
		a.procedure = w.calls[len(w.calls)-1]
		a.under = slices.Clone(w.state.under)
		for _, h := range w.state.held { // one row of a table is the same one in all of a transaction
			if a.one && h.one && a.table == h.table && h.mode != modeS && a.own != modeX {
				a.own = h.mode
			}
		}
	}
	for i, a := range list {
		if !a.waits {
			continue
		}
		held := slices.Clone(w.state.held)
		for _, b := range list[:i] {
			if b.kept {
				held = append(held, b)
			}
		}
		w.waits = append(w.waits, wait{held: held, wanted: a})
	}
	for _, a := range list {
		if a.kept {
			w.kept = append(w.kept, a)
			if w.state.depth > 0 {
				w.state.held = append(w.state.held, a)
			}
		}
	}
}

// scope lists the accesses of one SELECT, UPDATE or DELETE without its subqueries, which are scopes of their own.
func (w *lockWalk) scope(sc scope, safe map[string]lockMode) []*access {
	var list []*access
	said := ""
	if s, ok := sc.node.(syntax.Stmt); ok && len(w.calls) > 0 {
		said = statement{comments: commentsOf(w.source[w.calls[len(w.calls)-1]], s.Start(), s.End())}.says("order")
	}
	for _, src := range sources(sc.from) {
		name, ok := src.(*syntax.TableName)
		if !ok {
			continue
		}
		line := sc.node.Pos().Line
		if v := w.views[name.Name.String()]; v != nil {
			for _, inner := range scopes(v.Query) {
				for _, a := range w.scope(inner, nil) {
					a.line = line
					list = append(list, a)
				}
			}
			continue
		}
		t := w.table(name.Name)
		if t == nil {
			continue
		}
		alias := aliasOf(src)
		a := access{line: line, table: t.name, mode: modeS, kind: "read", waits: !w.snapshot}
		index := w.seek(t, sc, alias)
		touched := []*schemaIndex{index}
		if !index.clustered && (sc.target == alias || !t.covers(columnsOf(sc.node, alias), index)) {
			touched = append(touched, t.indexes[0])
		}
		switch {
		case sc.target == alias && isDelete(sc.node):
			a.mode, a.kind, a.kept, a.waits = modeX, "delete", true, true
			touched = append(touched, t.indexes...)
		case sc.target == alias:
			a.mode, a.kind, a.kept, a.waits = modeX, "update", true, true
			touched = append(touched, changedIndexes(t, sc.node)...)
		case hint(name, "UPDLOCK", "XLOCK"):
			a.mode, a.kind, a.kept, a.waits = modeU, "hint", true, true
		case hint(name, "REPEATABLEREAD", "HOLDLOCK", "SERIALIZABLE"):
			a.kind, a.kept, a.waits = "hint", true, true
		}
		a.one = oneRow(t, sc, alias) || said == "one row" && sc.target == alias
		a.own = safe[t.name]
		if hint(name, "READPAST") {
			a.waits = false
		}
		done := map[string]bool{}
		for _, i := range touched {
			if !done[i.name] {
				done[i.name] = true
				b := a
				b.index = i.name
				list = append(list, &b)
			}
		}
		if a.kind == "delete" {
			list = append(list, w.referring(t, line)...)
		}
	}
	return list
}

// isDelete says whether a scope is a DELETE.
func isDelete(n syntax.Node) bool {
	_, ok := n.(*syntax.DeleteStmt)
	return ok
}

// changedIndexes are the indexes that an UPDATE writes into: the clustered one, and those that hold a column that it sets, or whose filter names one.
func changedIndexes(t *schemaTable, n syntax.Node) []*schemaIndex {
	u, ok := n.(*syntax.UpdateStmt)
	if !ok {
		return nil
	}
	changed := []*schemaIndex{t.indexes[0]}
	for _, i := range t.indexes[1:] {
		if slices.ContainsFunc(u.Sets, func(s *syntax.SetClause) bool {
			return s.Column != nil && (slices.Contains(i.keys, s.Column.Column()) || slices.Contains(i.include, s.Column.Column()) || slices.Contains(i.filter, s.Column.Column()))
		}) {
			changed = append(changed, i)
		}
	}
	return changed
}

// insert lists the accesses of an INSERT: new rows, for which nobody else has locks, and the rows that foreign keys refer to, which are locked even with row
// versions.
func (w *lockWalk) insert(t *schemaTable, s syntax.Stmt, safe map[string]lockMode) []*access {
	var list []*access
	for _, i := range t.indexes {
		list = append(list, &access{line: s.Pos().Line, table: t.name, index: i.name, mode: modeX, kind: "insert", kept: true})
	}
	for _, f := range t.foreign {
		p := w.tables[f.parent]
		list = append(list, &access{line: s.Pos().Line, table: p.name, index: p.indexes[0].name, mode: modeS, kind: "foreign key", waits: true, one: true, own: safe[p.name]})
	}
	return list
}

// referring lists the accesses of a DELETE to the tables that refer to its table.
func (w *lockWalk) referring(t *schemaTable, line int32) []*access {
	var list []*access
	for _, name := range slices.Sorted(maps.Keys(w.tables)) {
		child := w.tables[name]
		for _, f := range child.foreign {
			if f.parent != t.name {
				continue
			}
			if !f.cascade {
				i := w.indexOn(child, f.columns)
				list = append(list, &access{line: line, table: child.name, index: i.name, mode: modeS, kind: "foreign key", waits: true})
				continue
			}
			for _, i := range child.indexes {
				list = append(list, &access{line: line, table: child.name, index: i.name, mode: modeX, kind: "delete", kept: true, waits: true})
			}
			if child != t {
				list = append(list, w.referring(child, line)...)
			}
		}
	}
	return list
}

// indexOn is the index that begins with these columns; the clustered one if there is none.
func (w *lockWalk) indexOn(t *schemaTable, columns []string) *schemaIndex {
	for _, i := range t.indexes {
		if len(i.keys) >= len(columns) && slices.Equal(i.keys[:len(columns)], columns) {
			return i
		}
	}
	return t.indexes[0]
}

// seek is the index that SQL Server is expected to read rows by: the one of which most leading columns are compared with =, one whose filter the
// predicates name before others; the clustered index if there is none.
func (w *lockWalk) seek(t *schemaTable, sc scope, alias string) *schemaIndex {
	equal := sc.equals(alias)
	var used []string
	for _, c := range sc.conditions() {
		used = append(used, columnsOf(c, alias)...)
	}
	best, score := t.indexes[0], 0
	for _, i := range t.indexes {
		if slices.ContainsFunc(i.filter, func(c string) bool { return !slices.Contains(used, c) }) {
			continue
		}
		n := 0
		for _, c := range i.keys {
			if equal[c] == nil {
				if slices.Contains(used, c) {
					n++ // a range
				}
				break
			}
			n += 2
		}
		switch {
		case i.unique && n == 2*len(i.keys):
			n = 100 // one row
			if i.clustered {
				n++
			}
		case len(i.filter) > 0:
			n += 3
		}
		if n > score {
			best, score = i, n
		}
	}
	return best
}

// safe are the tables whose rows a statement takes from lists of rows that are locked already, and how.
func (w *lockWalk) safe(s syntax.Stmt) map[string]lockMode {
	found := map[string]lockMode{}
	for _, v := range mentioned(s, false) {
		maps.Copy(found, w.state.listed[v])
	}
	return found
}

// mentioned are the variables by which a statement's rows are restricted: those that stand in it, but for those under NOT; with negated, only the latter.
func mentioned(n syntax.Node, negated bool) []string {
	var names []string
	var visit func(n syntax.Node, not bool)
	visit = func(n syntax.Node, not bool) {
		syntax.Inspect(n, func(x syntax.Node) bool {
			switch x := x.(type) {
			case *syntax.NotCond:
				visit(x.X, true)
				return false
			case *syntax.InCond:
				if x.Not && x.Query != nil {
					visit(x.Query, true)
					return false
				}
			case *syntax.Join:
				if x.Kind == syntax.LeftJoin {
					visit(x.Left, not)
					return false
				}
			case *syntax.TableVar:
				if not == negated {
					names = append(names, x.Name)
				}
			case *syntax.VarRef:
				if not == negated {
					names = append(names, x.Name)
				}
			}
			return true
		})
	}
	visit(n, false)
	return names
}

// remember keeps which rows the table variables name that a statement fills: those that it has locked by hints, those of lists that it
// reads, and, when it deletes from a table variable what is not in a list, those of that list.
func (w *lockWalk) remember(s syntax.Stmt, safe map[string]lockMode) {
	add := func(v string, tables map[string]lockMode) {
		if w.state.listed[v] == nil {
			w.state.listed[v] = map[string]lockMode{}
		}
		maps.Copy(w.state.listed[v], tables)
	}
	switch s := s.(type) {
	case *syntax.SetVarStmt:
		w.state.listed[s.Name] = maps.Clone(safe)
	case *syntax.InsertStmt:
		v, ok := s.Target.(*syntax.TableVar)
		if ok {
			tables := maps.Clone(safe)
			maps.Copy(tables, locked(s))
			add(v.Name, tables)
		}
		if s.OutputInto != nil {
			w.output(s.OutputInto, safe, add)
		}
	case *syntax.UpdateStmt:
		if s.OutputInto != nil {
			w.output(s.OutputInto, safe, add)
		}
	case *syntax.DeleteStmt:
		if s.OutputInto != nil {
			w.output(s.OutputInto, safe, add)
		}
		for _, src := range sources(s.From) {
			if v, ok := src.(*syntax.TableVar); ok && aliasOf(v) == aliasOf(s.Target) {
				for _, list := range mentioned(s, true) {
					add(v.Name, w.state.listed[list])
				}
			}
		}
	}
}

// output remembers OUTPUT ... INTO.
func (w *lockWalk) output(o *syntax.Output, safe map[string]lockMode, add func(string, map[string]lockMode)) {
	if v, ok := o.Into.(*syntax.TableVar); ok {
		add(v.Name, safe)
	}
}

// locked are the tables whose rows a statement locks by hints, and keeps locked.
func locked(s syntax.Stmt) map[string]lockMode {
	found := map[string]lockMode{}
	syntax.Inspect(s, func(n syntax.Node) bool {
		if t, ok := n.(*syntax.TableName); ok && hint(t, lockHints...) {
			found[t.Name.Last()] = modeS
			if hint(t, "UPDLOCK", "XLOCK") {
				found[t.Name.Last()] = modeU
			}
		}
		return true
	})
	return found
}

// gates are the tables whose row stands for the rows of others: who has locked a job in a way that keeps another one out has its schedules to himself.
var gates = map[string][]string{
	"schedules":            {"jobs"},
	"schedule_buffer":      {"jobs", "schedules"},
	"schedule_backfills":   {"jobs", "schedules"},
	"schedule_skips":       {"jobs", "schedules"},
	"job_versions":         {"jobs"},
	"job_steps":            {"jobs"},
	"step_commands":        {"jobs"},
	"target_group_members": {"target_groups"},
}

// apart says why two accesses to one index are never of the same row, or never at the same time; "": they may be. held is what the other one has, and
// before is what it held when it took it; waiting is what this one holds while it waits.
func apart(wanted, held *access, waiting, before []*access) string {
	for _, name := range wanted.under {
		if slices.Contains(held.under, name) {
			return "both hold the application lock " + name
		}
	}
	if held.kind == "insert" && wanted.kind == "foreign key" {
		return "nobody refers to a row that is not committed"
	}
	if wanted.own != 0 && conflicts(held.mode, wanted.own) {
		return "the row is locked already"
	}
	for _, gate := range gates[wanted.table] {
		for _, a := range waiting {
			for _, b := range before {
				if a.table == gate && b.table == gate && a.kept && b.kept && conflicts(a.mode, b.mode) {
					return "both have locked the row of " + gate + " before"
				}
			}
		}
	}
	return ""
}

// shortName is a procedure's name without its schema.
func shortName(name string) string {
	_, short, _ := strings.Cut(name, ".")
	return short
}

// calls says whether a procedure calls another one.
func calls(p *syntax.CreateProcedureStmt, name string) bool {
	found := false
	syntax.Inspect(p, func(n syntax.Node) bool {
		e, ok := n.(*syntax.ExecStmt)
		found = found || ok && e.Module != nil && e.Module.String() == name
		return true
	})
	return found
}

package sqlfs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// The lock model derives from the texts which locks a procedure takes, on which index, in which
// order, and where it waits. It models SQL Server's READ COMMITTED with READ_COMMITTED_SNAPSHOT, in
// which plain reads neither wait nor lock, and without
// (https://learn.microsoft.com/sql/relational-databases/sql-server-transaction-locking-and-row-versioning-guide).
//
// It follows both branches of IF, and bodies of WHILE twice. Called procedures and views are part
// of the caller. It does not model rows: two accesses to one table may be to the same row unless
// they are known to be to different ones (see apart).

// lockMode is the mode of a row lock.
type lockMode byte

// The modes of locks. Shared locks are compatible with shared and update locks; all other pairs
// conflict.
const (
	modeS lockMode = 'S'
	modeU lockMode = 'U'
	modeX lockMode = 'X'
)

// conflicts reports whether a requested lock has to wait for a held one.
func conflicts(wanted, held lockMode) bool {
	return wanted == modeX || held == modeX || wanted == modeU && held == modeU
}

// access is one statement's access to the rows of one table, by one index.
type access struct {
	procedure string // the procedure whose text contains it
	line      int32
	table     string
	index     string
	mode      lockMode
	kind      string   // read, hint, update, delete, insert, foreign key
	kept      bool     // held until the transaction ends
	waits     bool     // waits for other transactions' locks; not with READPAST, and not for new rows
	one       bool     // one row, by a key
	gap       bool     // also locks the gaps around the keys, so that nobody else inserts there
	own       lockMode // the transaction's earlier lock on the same rows; 0: none that is known
	under     []string // held application locks
}

// String formats the access for the graph.
func (a *access) String() string {
	return fmt.Sprintf("%s(%s) %c", a.table, a.index, a.mode)
}

// where returns the position of the statement.
func (a *access) where() string { return fmt.Sprintf("%s:%d", a.procedure, a.line) }

// wait is an access that waits while the transaction holds locks.
type wait struct {
	held   []*access
	tables []string // of held, each once
	wanted *access
}

// lockState is the set of locks of a transaction at some point.
type lockState struct {
	held   []*access
	under  []string
	depth  int                            // of BEGIN TRANSACTION
	listed map[string]map[string]lockMode // by variable: the tables whose locked rows it lists, with the lock mode
}

// clone copies the state for a branch.
func (s *lockState) clone() *lockState {
	c := &lockState{held: slices.Clone(s.held), under: slices.Clone(s.under), depth: s.depth, listed: map[string]map[string]lockMode{}}
	for v, tables := range s.listed {
		c.listed[v] = maps.Clone(tables)
	}
	return c
}

// lockWalk walks one procedure from its beginning.
type lockWalk struct {
	*tree
	snapshot bool // READ_COMMITTED_SNAPSHOT is on
	state    *lockState
	waits    []wait
	kept     []*access // all locks that were ever held
	calls    []string
}

// walkLocks walks a procedure. With open, the caller has a transaction, which stays open.
func (r *tree) walkLocks(name string, snapshot, open bool) *lockWalk {
	w := &lockWalk{tree: r, snapshot: snapshot, state: &lockState{listed: map[string]map[string]lockMode{}}}
	if open {
		w.state.depth = 1
	}
	w.procedure(name, map[string]map[string]lockMode{})
	return w
}

// procedure walks a called procedure. Its variables are its own; listed are its arguments.
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

// statements walks a list of statements, and reports whether it ends with RETURN or THROW.
func (w *lockWalk) statements(list []syntax.Stmt) bool {
	for _, s := range list {
		if w.statement(s) {
			return true
		}
	}
	return false
}

// statement walks one statement, and reports whether the statements after it are unreachable.
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

// inTransaction reports whether a condition is @@TRANCOUNT > 0.
func inTransaction(c syntax.Cond) bool {
	x, ok := c.(*syntax.CompareCond)
	if !ok || x.Op != syntax.OpGT {
		return false
	}
	g, ok := x.X.(*syntax.GlobalRef)
	return ok && g.Name == "@@TRANCOUNT"
}

// merge combines the locks of the branches of an IF.
func (w *lockWalk) merge(other *lockState) {
	known := make(map[*access]bool, len(w.state.held)) // the lists are long
	for _, a := range w.state.held {
		known[a] = true
	}
	for _, a := range other.held {
		if !known[a] {
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

// release ends a transaction.
func (w *lockWalk) release() {
	w.state.held, w.state.under = nil, nil
}

// execute walks EXECUTE: a procedure of ours, or an application lock.
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

// reads records the accesses of the subqueries of an expression or condition.
func (w *lockWalk) reads(n syntax.Node) {
	var list []*access
	for _, sc := range scopes(n) {
		list = append(list, w.scope(sc, nil)...)
	}
	w.take(list)
}

// change records the accesses of a statement that contains no other statements.
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

// take adds the accesses of one statement to those of the transaction. Locks that the statement
// keeps are held for its rest.
func (w *lockWalk) take(list []*access) {
	for _, a := range list {
		a.procedure = w.calls[len(w.calls)-1]
		a.under = slices.Clone(w.state.under)
		for _, h := range w.state.held { // one row of a table is the same one in all of a transaction
			if a.one && h.one && a.table == h.table && (h.mode != modeS || a.mode == modeS && a.own == 0) && a.own != modeX {
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
		w.waits = append(w.waits, wait{held: held, tables: slices.Compact(slices.Sorted(slices.Values(tablesOf(held)))), wanted: a})
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

// scope lists the accesses of one SELECT, UPDATE or DELETE without its subqueries, which are scopes
// of their own.
func (w *lockWalk) scope(sc scope, safe map[string]lockMode) []*access {
	var list []*access
	said := ""
	if s, ok := sc.node.(syntax.Stmt); ok && len(w.calls) > 0 {
		said = statement{comments: commentsOf(w.source[w.calls[len(w.calls)-1]], s.Start(), s.End())}.answer("order")
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
		case hint(name, "XLOCK"):
			a.mode, a.kind, a.kept, a.waits = modeX, "hint", true, true
		case hint(name, "UPDLOCK"):
			a.mode, a.kind, a.kept, a.waits = modeU, "hint", true, true
		case hint(name, "REPEATABLEREAD", "HOLDLOCK", "SERIALIZABLE"):
			a.kind, a.kept, a.waits = "hint", true, true
		}
		a.gap = hint(name, "HOLDLOCK", "SERIALIZABLE")
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

// isDelete reports whether a scope is a DELETE.
func isDelete(n syntax.Node) bool {
	_, ok := n.(*syntax.DeleteStmt)
	return ok
}

// changedIndexes returns the indexes that an UPDATE writes to: the clustered one, and those with a
// column that it sets, or with such a column in the filter.
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

// insert returns the accesses of an INSERT: new rows, which no other transaction has locked, and
// the rows to which foreign keys refer, which are locked even with row versions.
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

// referring returns the accesses of a DELETE to the tables that refer to its table.
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

// indexOn returns the index that begins with these columns, or the clustered one.
func (w *lockWalk) indexOn(t *schemaTable, columns []string) *schemaIndex {
	for _, i := range t.indexes {
		if len(i.keys) >= len(columns) && slices.Equal(i.keys[:len(columns)], columns) {
			return i
		}
	}
	return t.indexes[0]
}

// seek returns the index by which SQL Server is expected to read rows: the one with the most
// leading columns compared with =, preferably one whose filter the predicates contain; otherwise
// the clustered index.
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

// safe returns the tables whose rows a statement takes from lists of locked rows, with the lock
// mode.
func (w *lockWalk) safe(s syntax.Stmt) map[string]lockMode {
	found := map[string]lockMode{}
	for _, v := range mentioned(s, false) {
		maps.Copy(found, w.state.listed[v])
	}
	return found
}

// mentioned returns the variables that restrict a statement's rows: the variables in it that are
// not under NOT; with negated, only those under NOT.
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

// remember stores which rows are listed in the table variables that a statement fills: rows that it
// has locked by hints, rows of lists that it reads, and, when it deletes from a table variable the
// rows that are not in a list, the rows of that list.
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

// output does the same for OUTPUT ... INTO.
func (w *lockWalk) output(o *syntax.Output, safe map[string]lockMode, add func(string, map[string]lockMode)) {
	if v, ok := o.Into.(*syntax.TableVar); ok {
		add(v.Name, safe)
	}
}

// locked returns the tables whose rows a statement locks by hints and keeps locked.
func locked(s syntax.Stmt) map[string]lockMode {
	found := map[string]lockMode{}
	syntax.Inspect(s, func(n syntax.Node) bool {
		if t, ok := n.(*syntax.TableName); ok && hint(t, lockHints...) {
			found[t.Name.Last()] = modeS
			if hint(t, "UPDLOCK") {
				found[t.Name.Last()] = modeU
			}
			if hint(t, "XLOCK") {
				found[t.Name.Last()] = modeX
			}
		}
		return true
	})
	return found
}

// gates are the tables whose row stands for rows of other tables: a transaction that has locked a
// job exclusively has exclusive access to its schedules.
var gates = map[string][]string{
	"schedules":            {"jobs"},
	"schedule_buffer":      {"jobs", "schedules"},
	"schedule_backfills":   {"jobs", "schedules"},
	"schedule_skips":       {"jobs", "schedules"},
	"job_versions":         {"jobs"},
	"job_steps":            {"jobs"},
	"step_commands":        {"jobs"},
	"target_group_members": {"target_groups"},
	"rest_jobs":            {"jobs"},
	"scheduler_jobs":       {"jobs"},
	"rest_schedules":       {"jobs", "schedules"},
	"rest_action_log":      {"jobs"},
}

// apart returns why two accesses to one index are never to the same row, or never at the same time;
// an empty string means that they may be. held are the locks of the other access, before those that
// were held when it took its lock, and waiting those of this access while it waits.
func apart(wanted, held *access, waiting, before []*access) string {
	for _, name := range wanted.under {
		if slices.Contains(held.under, name) {
			return "both hold the application lock " + name
		}
	}
	if held.kind == "insert" && wanted.kind == "foreign key" {
		return "no row refers to an uncommitted row"
	}
	if wanted.own != 0 && conflicts(held.mode, wanted.own) {
		return "the row is locked already"
	}
	for _, gate := range gates[wanted.table] {
		for _, a := range waiting {
			if a.table != gate || !a.kept {
				continue
			}
			for _, b := range before {
				if b.table == gate && b.kept && conflicts(a.mode, b.mode) {
					return "both have locked the row of " + gate + " before"
				}
			}
		}
	}
	return ""
}

// shortName returns a procedure's name without its schema.
func shortName(name string) string {
	_, short, _ := strings.Cut(name, ".")
	return short
}

// calls returns the names of the procedures that a procedure calls.
func calls(p *syntax.CreateProcedureStmt) (names []string) {
	syntax.Inspect(p, func(n syntax.Node) bool {
		if e, ok := n.(*syntax.ExecStmt); ok && e.Module != nil {
			names = append(names, e.Module.String())
		}
		return true
	})
	return names
}

package syntax

import "github.com/jobagent/jobagent/testenv/tsqld/mserr"

// parenQuery reads a query in parentheses.
func (p *parser) parenQuery() *Query {
	p.expect("(")
	q := p.query()
	p.expect(")")
	return q
}

// query reads a query with ORDER BY and FOR. It also reads WITH, although only some places allow
// WITH.
func (p *parser) query() *Query {
	q := &Query{node: p.newNode()}
	if !p.enter() {
		return q
	}
	defer p.leave()
	if p.at("WITH") {
		q.With = p.with()
	}
	q.Body = p.setOps(p.queryOperand)
	p.queryTail(q)
	return q
}

// with reads WITH and the common table expressions.
func (p *parser) with() []*CTE {
	p.expect("WITH")
	if p.at("XMLNAMESPACES") {
		p.reject("WITH XMLNAMESPACES")
		return nil
	}
	var list []*CTE
	for {
		c := &CTE{node: p.newNode(), Name: p.ident()}
		c.Columns = p.optionalIdentList()
		p.expect("AS")
		c.Query = p.parenQuery()
		list = append(list, c)
		if !p.accept(",") {
			return list
		}
	}
}

// setOps reads an operand with first, and the UNION, EXCEPT and INTERSECT operators after it.
// INTERSECT binds more tightly.
func (p *parser) setOps(first func() QueryBody) QueryBody {
	before := p.beginChain()
	defer p.endChain(before)
	x := p.intersections(first)
	for {
		s := &SetOp{X: x}
		if x != nil {
			s.at = x.Pos()
		}
		switch {
		case p.accept("UNION", "ALL"):
			s.Kind = UnionAll
		case p.accept("UNION"):
			s.Kind = Union
		case p.accept("EXCEPT"):
			s.Kind = Except
		default:
			return x
		}
		p.addOperator()
		s.Y = p.intersections(p.queryOperand)
		x = s
	}
}

// intersections reads an operand with first, and the INTERSECT operators after it.
func (p *parser) intersections(first func() QueryBody) QueryBody {
	before := p.beginChain()
	defer p.endChain(before)
	x := first()
	for p.accept("INTERSECT") {
		p.addOperator()
		s := &SetOp{Kind: Intersect, X: x}
		if x != nil {
			s.at = x.Pos()
		}
		s.Y = p.queryOperand()
		x = s
	}
	return x
}

// queryOperand reads SELECT or a query in parentheses.
func (p *parser) queryOperand() QueryBody {
	if p.at("(") {
		if !p.enter() {
			return nil
		}
		defer p.leave()
		q := &ParenQuery{node: p.newNode()}
		p.next()
		q.X = p.setOps(p.queryOperand)
		p.expect(")")
		return q
	}
	return p.selectBody()
}

// queryTail reads ORDER BY, OFFSET, FETCH and FOR.
func (p *parser) queryTail(q *Query) {
	if p.accept("ORDER", "BY") {
		q.OrderBy = p.orderItems()
		if p.accept("OFFSET") {
			q.Offset = p.expr()
			p.expectAny("ROWS", "ROW")
			if p.accept("FETCH") {
				p.expectAny("NEXT", "FIRST")
				q.Fetch = p.expr()
				p.expectAny("ROWS", "ROW")
				p.expect("ONLY")
			}
		}
	}
	if p.at("FOR") && (p.peek(1).is("JSON") || p.peek(1).is("XML") || p.peek(1).is("BROWSE")) {
		q.For = p.forClause()
	}
}

// forClause reads FOR JSON, FOR XML and FOR BROWSE.
func (p *parser) forClause() *ForClause {
	f := &ForClause{node: p.newNode()}
	p.expect("FOR")
	switch p.next().upper {
	case "BROWSE":
		f.Kind = ForBrowse
		return f
	case "JSON":
		f.Kind = ForJSON
		f.Mode = p.expectAny("PATH", "AUTO")
	case "XML":
		f.Kind = ForXML
		f.Mode = p.expectAny("PATH", "AUTO", "RAW", "EXPLICIT")
		if p.at("(") {
			p.next()
			if f.Element = p.literal(); f.Element == nil {
				p.fail()
			}
			p.expect(")")
		}
	}
	for p.accept(",") {
		o := &Option{node: p.newNode(), Name: p.next().upper}
		switch {
		case o.Name == "ELEMENTS" && p.atAny("XSINIL", "ABSENT"), o.Name == "BINARY":
			o.Name += " " + p.next().upper
		}
		if p.accept("(") {
			if l := p.literal(); l != nil {
				o.Value = l
			} else {
				p.fail()
			}
			p.expect(")")
		}
		known := forJSONOptions
		if f.Kind == ForXML {
			known = forXMLOptions
		}
		if !known[o.Name] {
			p.failAt(p.previous())
		}
		f.Options = append(f.Options, o)
	}
	return f
}

// The options of FOR. Options of two words contain a blank.
var (
	forJSONOptions = map[string]bool{"ROOT": true, "INCLUDE_NULL_VALUES": true, "WITHOUT_ARRAY_WRAPPER": true}
	forXMLOptions  = map[string]bool{
		"ROOT":            true,
		"TYPE":            true,
		"ELEMENTS":        true,
		"ELEMENTS XSINIL": true,
		"ELEMENTS ABSENT": true,
		"BINARY BASE64":   true,
		"XMLSCHEMA":       true,
		"XMLDATA":         true,
	}
)

// changeTop reads the TOP of a statement that changes rows, which requires parentheses ("TOP
// (Transact-SQL)").
func (p *parser) changeTop() *Top {
	if p.at("TOP") && !p.peek(1).is("(") {
		p.failAt(p.peek(1))
		return nil
	}
	return p.top()
}

// top reads TOP; it returns nil if there is none.
func (p *parser) top() *Top {
	if !p.at("TOP") {
		return nil
	}
	t := &Top{node: p.newNode()}
	p.next()
	if p.at("(", "SELECT") {
		t.Count = p.expr()
	} else if p.accept("(") {
		t.Paren = true
		t.Count = p.expr()
		p.expect(")")
	} else if l := p.literal(); l != nil && (l.Kind == IntLit || l.Kind == DecimalLit || l.Kind == FloatLit) {
		t.Count = l
	} else {
		p.fail()
	}
	t.Percent = p.accept("PERCENT")
	t.WithTies = p.accept("WITH", "TIES")
	return t
}

// selectBody reads SELECT up to HAVING and WINDOW.
func (p *parser) selectBody() QueryBody {
	s := &Select{node: p.newNode()}
	p.expect("SELECT")
	if p.accept("DISTINCT") {
		s.Distinct = true
	} else {
		p.accept("ALL")
	}
	s.Top = p.top()
	s.Items = p.selectItems()
	if p.accept("INTO") {
		s.Into = p.objectName()
		if p.accept("ON") {
			p.ident()
		}
	}
	if p.accept("FROM") {
		s.From = p.tableSources()
	}
	if p.accept("WHERE") {
		s.Where = p.cond()
	}
	if p.at("GROUP") {
		s.GroupBy = p.groupBy()
	}
	if p.accept("HAVING") {
		s.Having = p.cond()
	}
	if p.atWindow() {
		p.next()
		for {
			w := &WindowDef{node: p.newNode(), Name: p.ident()}
			p.expect("AS")
			w.Over = &Over{node: p.newNode()}
			p.window(w.Over)
			s.Windows = append(s.Windows, w)
			if !p.accept(",") {
				break
			}
		}
	}
	return s
}

// atWindow reports whether a WINDOW clause comes next. WINDOW is not a reserved word.
func (p *parser) atWindow() bool {
	return p.at("WINDOW") && atIdent(p.peek(1)) && p.peek(2).is("AS") && p.peek(3).is("(")
}

// selectItems reads a select list.
func (p *parser) selectItems() []SelectItem {
	items := []SelectItem{p.selectItem()}
	for p.accept(",") {
		items = append(items, p.selectItem())
	}
	return items
}

// assignOps are the assignment operators of variables and columns.
var assignOps = map[string]Op{
	"=":  OpNone,
	"+=": OpAdd,
	"-=": OpSub,
	"*=": OpMul,
	"/=": OpDiv,
	"%=": OpMod,
	"&=": OpBitAnd,
	"|=": OpBitOr,
	"^=": OpBitXor,
}

// atAssign reports whether t is an assignment operator.
func atAssign(t *token) bool {
	if t.kind != tokOp {
		return false
	}
	_, ok := assignOps[t.text]
	return ok
}

// assign consumes an assignment operator.
func (p *parser) assign() Op {
	if !atAssign(p.current()) {
		p.fail()
		return OpNone
	}
	return assignOps[p.next().text]
}

// selectItem reads an item of a select list or of OUTPUT.
func (p *parser) selectItem() SelectItem {
	n := p.newNode()
	t := p.current()
	if p.accept("*") {
		return &SelectStar{node: n}
	}
	if t.kind == tokVar && atAssign(p.peek(1)) {
		p.next()
		op := p.assign()
		return &SelectAssign{node: n, Var: t.text, Op: op, X: p.expr()}
	}
	if (atIdent(t) || t.kind == tokString || t.kind == tokNString) && p.peek(1).is("=") {
		alias := p.alias()
		p.expect("=")
		return &SelectExpr{node: n, Alias: alias, X: p.expr()}
	}
	if atIdent(t) { // t.*, s.t.*
		k := 1
		for p.peek(k).is(".") && atIdent(p.peek(k+1)) {
			k += 2
		}
		if p.peek(k).is(".") && p.peek(k+1).is("*") {
			q := p.parts("column")
			p.expect(".", "*")
			return &SelectStar{node: n, Qualifier: q}
		}
	}
	item := &SelectExpr{node: n, X: p.expr()}
	if p.accept("AS") {
		item.Alias = p.alias()
	} else if a := p.current(); !p.atWindow() && !p.atLabel() &&
		(atIdent(a) || a.kind == tokString || a.kind == tokNString) {
		item.Alias = p.alias()
	}
	return item
}

// alias reads the alias of a column, which may be a string.
func (p *parser) alias() Ident {
	t := p.current()
	if t.kind == tokString || t.kind == tokNString {
		if t.text == "" {
			p.errorAt(t, mserr.MissingName())
		}
		p.next()
		return Ident{Name: t.text, Quoted: true, At: t.at}
	}
	return p.ident()
}

// groupBy reads GROUP BY.
func (p *parser) groupBy() *GroupBy {
	g := &GroupBy{node: p.newNode()}
	p.expect("GROUP", "BY")
	g.All = p.accept("ALL")
	for {
		g.Items = append(g.Items, p.groupItem(false))
		if !p.accept(",") {
			break
		}
	}
	if p.at("WITH") && (p.peek(1).is("ROLLUP") || p.peek(1).is("CUBE")) {
		p.next()
		kind := GroupRollup
		if p.next().upper == "CUBE" {
			kind = GroupCube
		}
		g.Items = []*GroupItem{{node: g.node, Kind: kind, Sub: g.Items}}
	}
	return g
}

// groupItem reads an element of GROUP BY. inside allows lists in parentheses, as in ROLLUP and
// CUBE.
func (p *parser) groupItem(inside bool) *GroupItem {
	g := &GroupItem{node: p.newNode()}
	if !p.enter() {
		return g
	}
	defer p.leave()
	switch {
	case p.accept("ROLLUP", "("):
		g.Kind = GroupRollup
	case p.accept("CUBE", "("):
		g.Kind = GroupCube
	case p.accept("GROUPING", "SETS", "("):
		g.Kind = GroupSets
	case p.at("(", ")"), inside && p.at("(") && p.listFollows():
		p.next()
		g.Kind = GroupList
		if p.accept(")") {
			return g
		}
	default:
		g.X = p.expr()
		return g
	}
	for {
		g.Sub = append(g.Sub, p.groupItem(g.Kind != GroupList))
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return g
}

// listFollows reports whether the current parenthesis encloses a list or a whole element, rather
// than starting an expression such as (a + b) * c.
func (p *parser) listFollows() bool {
	t := p.peek(p.matching(0))
	return t.is(",") || t.is(")")
}

// matching returns the distance to the token after the parenthesis that matches the one n tokens
// ahead, or to the end of the text.
func (p *parser) matching(n int) int {
	if p.afterClosing == nil {
		p.fillAll()
		p.afterClosing = make([]int32, len(p.tokens))
		var open []int32
		for i := range p.tokens {
			switch t := &p.tokens[i]; {
			case t.is("("):
				open = append(open, int32(i))
			case t.is(")") && len(open) > 0:
				p.afterClosing[open[len(open)-1]] = int32(i + 1)
				open = open[:len(open)-1]
			}
		}
	}
	if behind := int(p.afterClosing[min(p.pos+n, len(p.tokens)-1)]); behind > 0 {
		return behind - p.pos
	}
	return len(p.tokens) - 1 - p.pos
}

// parentheses returns the distance to the first token after the current one that is not an opening
// parenthesis.
func (p *parser) parentheses() int {
	if p.pos >= p.parenRun.end || p.pos < p.parenRun.start {
		n := 1
		for p.peek(n).is("(") {
			n++
		}
		p.parenRun.start, p.parenRun.end = p.pos, p.pos+n
	}
	return p.parenRun.end - p.pos
}

// tableSources reads the items after FROM.
func (p *parser) tableSources() []TableSource {
	list := []TableSource{p.tableSource()}
	for p.accept(",") {
		list = append(list, p.tableSource())
	}
	return list
}

// tableSource reads a table source with its joins.
func (p *parser) tableSource() TableSource { return p.joins(false) }

// joins reads a table source and the joins after it. If right is set, it reads the right side of a
// join with ON and stops at that ON: "a JOIN b JOIN c ON x ON y" nests to the right.
func (p *parser) joins(right bool) TableSource {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	before := p.beginChain()
	defer p.endChain(before)
	x := p.tableOperand()
	for !right || !p.at("ON") {
		j := &Join{Left: x}
		if x != nil {
			j.at = x.Pos()
		}
		switch {
		case p.accept("CROSS", "JOIN"):
			j.Kind, j.Right = CrossJoin, p.tableOperand()
		case p.accept("CROSS", "APPLY"):
			j.Kind, j.Right = CrossApply, p.tableOperand()
		case p.accept("OUTER", "APPLY"):
			j.Kind, j.Right = OuterApply, p.tableOperand()
		case p.atAny("JOIN", "INNER", "LEFT", "RIGHT", "FULL"):
			p.joinKind(j)
			j.Right = p.joins(true)
			p.expect("ON")
			j.On = p.cond()
		default:
			return x
		}
		p.addOperator()
		x = j
	}
	return x
}

// joinKind reads the words of a join up to JOIN.
func (p *parser) joinKind(j *Join) {
	switch p.acceptAny("INNER", "LEFT", "RIGHT", "FULL") {
	case "LEFT":
		j.Kind = LeftJoin
	case "RIGHT":
		j.Kind = RightJoin
	case "FULL":
		j.Kind = FullJoin
	}
	if j.Kind != InnerJoin {
		p.accept("OUTER")
	}
	j.Hint = p.acceptAny("LOOP", "HASH", "MERGE", "REMOTE")
	p.expect("JOIN")
}

// tableAlias reads [AS] alias; the result is zero if there is none.
func (p *parser) tableAlias() Ident {
	if p.accept("AS") {
		return p.ident()
	}
	t := p.current()
	if !atIdent(t) || p.atWindow() || p.atLabel() || p.mergeAlias && t.is("USING") {
		return Ident{}
	}
	return p.ident()
}

// rejectedTables are the table sources that Parse refuses, with their name in the error.
var rejectedTables = map[string]string{
	"OPENROWSET":     "OPENROWSET",
	"OPENDATASOURCE": "OPENDATASOURCE",
	"OPENQUERY":      "OPENQUERY",
	"OPENXML":        "OPENXML",
	"CONTAINSTABLE":  "CONTAINSTABLE",
	"FREETEXTTABLE":  "FREETEXTTABLE",
	"CHANGETABLE":    "CHANGETABLE",
	"PREDICT":        "PREDICT",
}

// tableOperand reads one table source with its PIVOT and UNPIVOT operators.
func (p *parser) tableOperand() TableSource {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	before := p.beginChain()
	defer p.endChain(before)
	x := p.tableAtom()
	for p.atAny("PIVOT", "UNPIVOT") {
		p.addOperator()
		if p.at("PIVOT") {
			x = p.pivot(x)
		} else {
			x = p.unpivot(x)
		}
	}
	if p.at("TABLESAMPLE") {
		p.reject("TABLESAMPLE")
	}
	return x
}

// tableAtom reads a table, function, subquery or joins in parentheses.
func (p *parser) tableAtom() TableSource {
	t := p.current()
	at := table{p.newNode()}
	switch {
	case t.kind == tokVar:
		p.next()
		if p.at(".") {
			p.reject("the xml method nodes")
			return nil
		}
		return &TableVar{table: at, Name: t.text, Alias: p.tableAlias()}
	case p.at("("):
		return p.parenTable()
	case p.at("OPENJSON", "("):
		return p.openJSON()
	case p.at("{", "OJ"):
		return p.outerJoinEscape()
	case rejectedTables[t.upper] != "" && p.peek(1).is("("):
		p.reject(rejectedTables[t.upper])
		return nil
	}
	p.accept("::")
	name := p.objectName()
	if p.at("(") && !p.atOldHints() {
		f := &TableFunc{table: at}
		f.Call, _ = p.call(expr(at), name).(*FuncCall)
		if p.at("WITH", "(") {
			p.reject("a WITH clause behind a function other than OPENJSON")
		}
		f.Alias = p.tableAlias()
		f.Columns = p.optionalIdentList()
		return f
	}
	tn := &TableName{table: at, Name: name}
	if p.at("FOR", "SYSTEM_TIME") {
		p.reject("FOR SYSTEM_TIME")
	}
	tn.Hints = p.tableHints()
	tn.Alias = p.tableAlias()
	if p.at("TABLESAMPLE") {
		p.reject("TABLESAMPLE")
	}
	tn.Hints = append(tn.Hints, p.tableHints()...)
	return tn
}

// tableHintNames are the hints of WITH (...) after a table.
var tableHintNames = wordSet(`NOLOCK READUNCOMMITTED READCOMMITTED READCOMMITTEDLOCK REPEATABLEREAD SERIALIZABLE HOLDLOCK
	UPDLOCK XLOCK ROWLOCK PAGLOCK TABLOCK TABLOCKX NOWAIT READPAST NOEXPAND INDEX FORCESEEK FORCESCAN KEEPIDENTITY
	KEEPDEFAULTS IGNORE_CONSTRAINTS IGNORE_TRIGGERS SNAPSHOT SPATIAL_WINDOW_MAX_CELLS FASTFIRSTROW`)

// atOldHints reports whether a hint without WITH comes next. Such a hint is the only one: t
// (NOLOCK).
func (p *parser) atOldHints() bool {
	return p.at("(") && p.peek(1).kind == tokWord && tableHintNames[p.peek(1).upper] && p.peek(2).is(")")
}

// tableHints reads WITH (...) after a table, and the old form without WITH.
func (p *parser) tableHints() []*TableHint {
	if p.at("HOLDLOCK") { // the only hint without parentheses
		h := &TableHint{node: p.newNode(), Name: p.next().upper}
		return []*TableHint{h}
	}
	if !p.at("WITH", "(") && !p.atOldHints() {
		return nil
	}
	p.accept("WITH")
	p.expect("(")
	var hints []*TableHint
	for p.err == nil && !p.at(")") {
		t := p.current()
		if t.kind != tokWord || !tableHintNames[t.upper] {
			if t.kind == tokWord && !reserved[t.upper] {
				p.errorAt(t, mserr.NotRecognized(t.text, "table hints option"))
			}
			p.fail()
			return nil
		}
		h := &TableHint{node: p.newNode(), Name: t.upper}
		p.next()
		if p.accept("=") {
			h.Args = []Expr{p.expr()}
		} else if p.accept("(") {
			h.Args = p.exprList()
			p.expect(")")
		}
		hints = append(hints, h)
		p.accept(",")
	}
	p.expect(")")
	return hints
}

// parenTable reads a derived table, VALUES, or joins in parentheses.
func (p *parser) parenTable() TableSource {
	at := table{p.newNode()}
	next := p.peek(1)
	switch {
	case next.is("VALUES"):
		p.next()
		v := &ValuesTable{table: at, Rows: p.values()}
		p.expect(")")
		v.Alias = p.tableAlias()
		v.Columns = p.optionalIdentList()
		return v
	case next.is("INSERT"), next.is("UPDATE"), next.is("DELETE"), next.is("MERGE"):
		p.reject("a data change with OUTPUT in FROM")
		return nil
	case next.is("SELECT"), next.is("WITH"), p.parenthesisedQuery():
		d := &DerivedTable{table: at, Query: p.parenQuery(), Alias: p.tableAlias()}
		if d.Alias.Name == "" {
			p.fail()
		}
		d.Columns = p.optionalIdentList()
		return d
	}
	p.next()
	x := &ParenTable{table: at, X: p.tableSource()}
	p.expect(")")
	return x
}

// parenthesisedQuery reports whether "((SELECT ...) ..." is a query rather than joins in
// parentheses.
func (p *parser) parenthesisedQuery() bool {
	n := p.parentheses()
	if n == 1 || !p.peek(n).is("SELECT") {
		return false
	}
	behind := p.peek(p.matching(1))
	return behind.is(")") || behind.is("UNION") || behind.is("EXCEPT") || behind.is("INTERSECT")
}

// values reads VALUES (...), (...).
func (p *parser) values() [][]Expr {
	p.expect("VALUES")
	var rows [][]Expr
	for {
		p.expect("(")
		row := []Expr{p.exprOrDefault()}
		for p.accept(",") {
			row = append(row, p.exprOrDefault())
		}
		p.expect(")")
		rows = append(rows, row)
		if !p.accept(",") {
			return rows
		}
	}
}

// openJSON reads OPENJSON.
func (p *parser) openJSON() TableSource {
	o := &OpenJSON{table: table{p.newNode()}}
	p.expect("OPENJSON", "(")
	o.X = p.expr()
	if p.accept(",") {
		o.Path = p.expr()
	}
	p.expect(")")
	if p.accept("WITH", "(") {
		for {
			c := &JSONColumn{node: p.newNode(), Name: p.ident(), Type: p.typeRef()}
			if p.accept("COLLATE") {
				c.Collation = p.ident().Name
			}
			if k := p.current().kind; k == tokString || k == tokNString {
				c.Path = p.literal()
			}
			c.AsJSON = p.accept("AS", "JSON")
			o.Columns = append(o.Columns, c)
			if !p.accept(",") {
				break
			}
		}
		p.expect(")")
	}
	o.Alias = p.tableAlias()
	return o
}

// pivot reads PIVOT after x.
func (p *parser) pivot(x TableSource) TableSource {
	v := &Pivot{Source: x}
	if x != nil {
		v.at = x.Pos()
	}
	p.expect("PIVOT", "(")
	e := expr{p.newNode()}
	v.Aggregate, _ = p.call(e, p.objectName()).(*FuncCall)
	p.expect("FOR")
	e = expr{p.newNode()}
	v.Column = &ColumnRef{expr: e, Parts: p.parts("column")}
	p.expect("IN")
	v.Values = p.identList()
	p.expect(")")
	v.Alias = p.tableAlias()
	if v.Alias.Name == "" {
		p.fail()
	}
	return v
}

// unpivot reads UNPIVOT after x.
func (p *parser) unpivot(x TableSource) TableSource {
	u := &Unpivot{Source: x}
	if x != nil {
		u.at = x.Pos()
	}
	p.expect("UNPIVOT", "(")
	u.Value = p.ident()
	p.expect("FOR")
	u.Column = p.ident()
	p.expect("IN", "(")
	for {
		e := expr{p.newNode()}
		u.Columns = append(u.Columns, &ColumnRef{expr: e, Parts: p.parts("column")})
		if !p.accept(",") {
			break
		}
	}
	p.expect(")", ")")
	u.Alias = p.tableAlias()
	if u.Alias.Name == "" {
		p.fail()
	}
	return u
}

// queryHints reads OPTION (...); it returns nil if there is none.
func (p *parser) queryHints() []*Option {
	if !p.accept("OPTION") {
		return nil
	}
	return p.options(true)
}

// selectStmt reads a query as a statement.
func (p *parser) selectStmt() Stmt {
	s := &SelectStmt{Query: p.query()}
	s.Hints = p.queryHints()
	return s
}

package syntax

import "github.com/jobagent/jobagent/testenv/tsqld/mserr"

// parenQuery reads a query in parentheses.
func (p *parser) parenQuery() *Query {
	p.want("(")
	q := p.query()
	p.want(")")
	return q
}

// query reads a query with ORDER BY and FOR; WITH is read as well, though only some places allow it.
func (p *parser) query() *Query {
	q := &Query{node: p.here()}
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
	p.want("WITH")
	if p.at("XMLNAMESPACES") {
		p.reject("WITH XMLNAMESPACES")
		return nil
	}
	var list []*CTE
	for {
		c := &CTE{node: p.here(), Name: p.ident()}
		c.Columns = p.optionalIdentList()
		p.want("AS")
		c.Query = p.parenQuery()
		list = append(list, c)
		if !p.got(",") {
			return list
		}
	}
}

// setOps reads an operand, by first, and UNION, EXCEPT and INTERSECT behind it; INTERSECT binds tighter.
func (p *parser) setOps(first func() QueryBody) QueryBody {
	before := p.operand()
	defer p.operandEnd(before)
	x := p.intersections(first)
	for {
		s := &SetOp{X: x}
		if x != nil {
			s.at = x.Pos()
		}
		switch {
		case p.got("UNION", "ALL"):
			s.Kind = UnionAll
		case p.got("UNION"):
			s.Kind = Union
		case p.got("EXCEPT"):
			s.Kind = Except
		default:
			return x
		}
		p.chain()
		s.Y = p.intersections(p.queryOperand)
		x = s
	}
}

// intersections reads an operand, by first, and INTERSECT behind it.
func (p *parser) intersections(first func() QueryBody) QueryBody {
	before := p.operand()
	defer p.operandEnd(before)
	x := first()
	for p.got("INTERSECT") {
		p.chain()
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
		q := &ParenQuery{node: p.here()}
		p.next()
		q.X = p.setOps(p.queryOperand)
		p.want(")")
		return q
	}
	return p.selectBody()
}

// queryTail reads ORDER BY, OFFSET, FETCH and FOR.
func (p *parser) queryTail(q *Query) {
	if p.got("ORDER", "BY") {
		q.OrderBy = p.orderItems()
		if p.got("OFFSET") {
			q.Offset = p.expr()
			p.wantAny("ROWS", "ROW")
			if p.got("FETCH") {
				p.wantAny("NEXT", "FIRST")
				q.Fetch = p.expr()
				p.wantAny("ROWS", "ROW")
				p.want("ONLY")
			}
		}
	}
	if p.at("FOR") && (p.ahead(1).is("JSON") || p.ahead(1).is("XML") || p.ahead(1).is("BROWSE")) {
		q.For = p.forClause()
	}
}

// forClause reads FOR JSON, FOR XML and FOR BROWSE.
func (p *parser) forClause() *ForClause {
	f := &ForClause{node: p.here()}
	p.want("FOR")
	switch p.next().up {
	case "BROWSE":
		f.Kind = ForBrowse
		return f
	case "JSON":
		f.Kind = ForJSON
		f.Mode = p.wantAny("PATH", "AUTO")
	case "XML":
		f.Kind = ForXML
		f.Mode = p.wantAny("PATH", "AUTO", "RAW", "EXPLICIT")
		if p.at("(") {
			p.next()
			if f.Element = p.literal(); f.Element == nil {
				p.fail()
			}
			p.want(")")
		}
	}
	for p.got(",") {
		o := &Option{node: p.here(), Name: p.next().up}
		switch {
		case o.Name == "ELEMENTS" && p.atAny("XSINIL", "ABSENT"), o.Name == "BINARY":
			o.Name += " " + p.next().up
		}
		if p.got("(") {
			if l := p.literal(); l != nil {
				o.Value = l
			} else {
				p.fail()
			}
			p.want(")")
		}
		known := forJSONOptions
		if f.Kind == ForXML {
			known = forXMLOptions
		}
		if !known[o.Name] {
			p.failAt(p.last())
		}
		f.Options = append(f.Options, o)
	}
	return f
}

// The options of FOR, those of two words with their blank.
var (
	forJSONOptions = map[string]bool{"ROOT": true, "INCLUDE_NULL_VALUES": true, "WITHOUT_ARRAY_WRAPPER": true}
	forXMLOptions  = map[string]bool{
		"ROOT": true, "TYPE": true, "ELEMENTS": true, "ELEMENTS XSINIL": true, "ELEMENTS ABSENT": true, "BINARY BASE64": true,
		"XMLSCHEMA": true, "XMLDATA": true,
	}
)

// changeTop reads TOP of a statement that changes rows, which needs its parentheses ("TOP (Transact-SQL)").
func (p *parser) changeTop() *Top {
	if p.at("TOP") && !p.ahead(1).is("(") {
		p.failAt(p.ahead(1))
		return nil
	}
	return p.top()
}

// top reads TOP; nil if there is none.
func (p *parser) top() *Top {
	if !p.at("TOP") {
		return nil
	}
	t := &Top{node: p.here()}
	p.next()
	if p.at("(", "SELECT") {
		t.Count = p.expr()
	} else if p.got("(") {
		t.Paren = true
		t.Count = p.expr()
		p.want(")")
	} else if l := p.literal(); l != nil && (l.Kind == IntLit || l.Kind == DecimalLit || l.Kind == FloatLit) {
		t.Count = l
	} else {
		p.fail()
	}
	t.Percent = p.got("PERCENT")
	t.WithTies = p.got("WITH", "TIES")
	return t
}

// selectBody reads SELECT up to HAVING and WINDOW.
func (p *parser) selectBody() QueryBody {
	s := &Select{node: p.here()}
	p.want("SELECT")
	if p.got("DISTINCT") {
		s.Distinct = true
	} else {
		p.got("ALL")
	}
	s.Top = p.top()
	s.Items = p.selectItems()
	if p.got("INTO") {
		s.Into = p.objectName()
		if p.got("ON") {
			p.ident()
		}
	}
	if p.got("FROM") {
		s.From = p.tableSources()
	}
	if p.got("WHERE") {
		s.Where = p.cond()
	}
	if p.at("GROUP") {
		s.GroupBy = p.groupBy()
	}
	if p.got("HAVING") {
		s.Having = p.cond()
	}
	if p.atWindow() {
		p.next()
		for {
			w := &WindowDef{node: p.here(), Name: p.ident()}
			p.want("AS")
			w.Over = &Over{node: p.here()}
			p.window(w.Over)
			s.Windows = append(s.Windows, w)
			if !p.got(",") {
				break
			}
		}
	}
	return s
}

// atWindow reports whether the WINDOW clause comes; WINDOW is no reserved word.
func (p *parser) atWindow() bool {
	return p.at("WINDOW") && atIdent(p.ahead(1)) && p.ahead(2).is("AS") && p.ahead(3).is("(")
}

// selectItems reads a select list.
func (p *parser) selectItems() []SelectItem {
	items := []SelectItem{p.selectItem()}
	for p.got(",") {
		items = append(items, p.selectItem())
	}
	return items
}

// assignOps are the assignments that may follow a variable or column.
var assignOps = map[string]Op{
	"=": OpNone, "+=": OpAdd, "-=": OpSub, "*=": OpMul, "/=": OpDiv, "%=": OpMod, "&=": OpBitAnd, "|=": OpBitOr, "^=": OpBitXor,
}

// atAssign reports whether t is an assignment.
func atAssign(t *token) bool {
	if t.kind != tokOp {
		return false
	}
	_, ok := assignOps[t.text]
	return ok
}

// assign takes an assignment.
func (p *parser) assign() Op {
	if !atAssign(p.tok()) {
		p.fail()
		return OpNone
	}
	return assignOps[p.next().text]
}

// selectItem reads an item of a select list or of OUTPUT.
func (p *parser) selectItem() SelectItem {
	n := p.here()
	t := p.tok()
	if p.got("*") {
		return &SelectStar{node: n}
	}
	if t.kind == tokVar && atAssign(p.ahead(1)) {
		p.next()
		op := p.assign()
		return &SelectAssign{node: n, Var: t.text, Op: op, X: p.expr()}
	}
	if (atIdent(t) || t.kind == tokString || t.kind == tokNString) && p.ahead(1).is("=") {
		alias := p.alias()
		p.want("=")
		return &SelectExpr{node: n, Alias: alias, X: p.expr()}
	}
	if atIdent(t) { // t.*, s.t.*
		k := 1
		for p.ahead(k).is(".") && atIdent(p.ahead(k+1)) {
			k += 2
		}
		if p.ahead(k).is(".") && p.ahead(k+1).is("*") {
			q := p.parts("column")
			p.want(".", "*")
			return &SelectStar{node: n, Qualifier: q}
		}
	}
	item := &SelectExpr{node: n, X: p.expr()}
	if p.got("AS") {
		item.Alias = p.alias()
	} else if a := p.tok(); !p.atWindow() && !p.atLabel() && (atIdent(a) || a.kind == tokString || a.kind == tokNString) {
		item.Alias = p.alias()
	}
	return item
}

// alias reads a column's alias, which may be a string.
func (p *parser) alias() Ident {
	t := p.tok()
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
	g := &GroupBy{node: p.here()}
	p.want("GROUP", "BY")
	g.All = p.got("ALL")
	for {
		g.Items = append(g.Items, p.groupItem(false))
		if !p.got(",") {
			break
		}
	}
	if p.at("WITH") && (p.ahead(1).is("ROLLUP") || p.ahead(1).is("CUBE")) {
		p.next()
		kind := GroupRollup
		if p.next().up == "CUBE" {
			kind = GroupCube
		}
		g.Items = []*GroupItem{{node: g.node, Kind: kind, Sub: g.Items}}
	}
	return g
}

// groupItem reads an element of GROUP BY; lists in parentheses are allowed inside of ROLLUP and its like.
func (p *parser) groupItem(inside bool) *GroupItem {
	g := &GroupItem{node: p.here()}
	if !p.enter() {
		return g
	}
	defer p.leave()
	switch {
	case p.got("ROLLUP", "("):
		g.Kind = GroupRollup
	case p.got("CUBE", "("):
		g.Kind = GroupCube
	case p.got("GROUPING", "SETS", "("):
		g.Kind = GroupSets
	case p.at("(", ")"), inside && p.at("(") && p.listFollows():
		p.next()
		g.Kind = GroupList
		if p.got(")") {
			return g
		}
	default:
		g.X = p.expr()
		return g
	}
	for {
		g.Sub = append(g.Sub, p.groupItem(g.Kind != GroupList))
		if !p.got(",") {
			break
		}
	}
	p.want(")")
	return g
}

// listFollows reports whether the parenthesis here holds a list or ends an element, so that it isn't the
// beginning of an expression such as (a + b) * c.
func (p *parser) listFollows() bool {
	t := p.ahead(p.matching(0))
	return t.is(",") || t.is(")")
}

// matching is the distance to the token behind the parenthesis that matches the one n tokens on, or to the end of the text.
func (p *parser) matching(n int) int {
	if p.behind == nil {
		p.fillAll()
		p.behind = make([]int32, len(p.toks))
		var open []int32
		for i := range p.toks {
			switch t := &p.toks[i]; {
			case t.is("("):
				open = append(open, int32(i))
			case t.is(")") && len(open) > 0:
				p.behind[open[len(open)-1]] = int32(i + 1)
				open = open[:len(open)-1]
			}
		}
	}
	if behind := int(p.behind[min(p.i+n, len(p.toks)-1)]); behind > 0 {
		return behind - p.i
	}
	return len(p.toks) - 1 - p.i
}

// parentheses is the distance to the first token behind the current one that is no opening parenthesis.
func (p *parser) parentheses() int {
	if p.i >= p.run.end || p.i < p.run.start {
		n := 1
		for p.ahead(n).is("(") {
			n++
		}
		p.run.start, p.run.end = p.i, p.i+n
	}
	return p.run.end - p.i
}

// tableSources reads what stands behind FROM.
func (p *parser) tableSources() []TableSource {
	list := []TableSource{p.tableSource()}
	for p.got(",") {
		list = append(list, p.tableSource())
	}
	return list
}

// tableSource reads joins.
func (p *parser) tableSource() TableSource { return p.joins(false) }

// joins reads a table source and the joins behind it. With right set it is the right side of a join with ON, and ends at
// that ON: "a JOIN b JOIN c ON x ON y" nests to the right.
func (p *parser) joins(right bool) TableSource {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	before := p.operand()
	defer p.operandEnd(before)
	x := p.tableOperand()
	for !right || !p.at("ON") {
		j := &Join{Left: x}
		if x != nil {
			j.at = x.Pos()
		}
		switch {
		case p.got("CROSS", "JOIN"):
			j.Kind, j.Right = CrossJoin, p.tableOperand()
		case p.got("CROSS", "APPLY"):
			j.Kind, j.Right = CrossApply, p.tableOperand()
		case p.got("OUTER", "APPLY"):
			j.Kind, j.Right = OuterApply, p.tableOperand()
		case p.atAny("JOIN", "INNER", "LEFT", "RIGHT", "FULL"):
			p.joinKind(j)
			j.Right = p.joins(true)
			p.want("ON")
			j.On = p.cond()
		default:
			return x
		}
		p.chain()
		x = j
	}
	return x
}

// joinKind reads the words up to JOIN.
func (p *parser) joinKind(j *Join) {
	switch p.gotAny("INNER", "LEFT", "RIGHT", "FULL") {
	case "LEFT":
		j.Kind = LeftJoin
	case "RIGHT":
		j.Kind = RightJoin
	case "FULL":
		j.Kind = FullJoin
	}
	if j.Kind != InnerJoin {
		p.got("OUTER")
	}
	j.Hint = p.gotAny("LOOP", "HASH", "MERGE", "REMOTE")
	p.want("JOIN")
}

// tableAlias reads [AS] alias; zero if there is none.
func (p *parser) tableAlias() Ident {
	if p.got("AS") {
		return p.ident()
	}
	t := p.tok()
	if !atIdent(t) || p.atWindow() || p.atLabel() || p.mergeAlias && t.is("USING") {
		return Ident{}
	}
	return p.ident()
}

// rejectedTables are table sources that are refused by Parse, with what the refusal says.
var rejectedTables = map[string]string{
	"OPENROWSET": "OPENROWSET", "OPENDATASOURCE": "OPENDATASOURCE", "OPENQUERY": "OPENQUERY", "OPENXML": "OPENXML",
	"CONTAINSTABLE": "CONTAINSTABLE", "FREETEXTTABLE": "FREETEXTTABLE", "CHANGETABLE": "CHANGETABLE", "PREDICT": "PREDICT",
}

// tableOperand reads one table source with PIVOT and UNPIVOT behind it.
func (p *parser) tableOperand() TableSource {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	before := p.operand()
	defer p.operandEnd(before)
	x := p.tableAtom()
	for p.atAny("PIVOT", "UNPIVOT") {
		p.chain()
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
	t := p.tok()
	at := table{p.here()}
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
	case rejectedTables[t.up] != "" && p.ahead(1).is("("):
		p.reject(rejectedTables[t.up])
		return nil
	}
	p.got("::")
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

// tableHintNames are the words of WITH (...) behind a table.
var tableHintNames = wordSet(`NOLOCK READUNCOMMITTED READCOMMITTED READCOMMITTEDLOCK REPEATABLEREAD SERIALIZABLE HOLDLOCK
	UPDLOCK XLOCK ROWLOCK PAGLOCK TABLOCK TABLOCKX NOWAIT READPAST NOEXPAND INDEX FORCESEEK FORCESCAN KEEPIDENTITY
	KEEPDEFAULTS IGNORE_CONSTRAINTS IGNORE_TRIGGERS SNAPSHOT SPATIAL_WINDOW_MAX_CELLS FASTFIRSTROW`)

// atOldHints reports whether a hint without WITH comes, which stands alone: t (NOLOCK).
func (p *parser) atOldHints() bool {
	return p.at("(") && p.ahead(1).kind == tokWord && tableHintNames[p.ahead(1).up] && p.ahead(2).is(")")
}

// tableHints reads WITH (...) behind a table, and the old form without WITH.
func (p *parser) tableHints() []*TableHint {
	if p.at("HOLDLOCK") { // the one hint that needs no parentheses
		h := &TableHint{node: p.here(), Name: p.next().up}
		return []*TableHint{h}
	}
	if !p.at("WITH", "(") && !p.atOldHints() {
		return nil
	}
	p.got("WITH")
	p.want("(")
	var hints []*TableHint
	for p.err == nil && !p.at(")") {
		t := p.tok()
		if t.kind != tokWord || !tableHintNames[t.up] {
			if t.kind == tokWord && !reserved[t.up] {
				p.errorAt(t, mserr.NotRecognized(t.text, "table hints option"))
			}
			p.fail()
			return nil
		}
		h := &TableHint{node: p.here(), Name: t.up}
		p.next()
		if p.got("=") {
			h.Args = []Expr{p.expr()}
		} else if p.got("(") {
			h.Args = p.exprList()
			p.want(")")
		}
		hints = append(hints, h)
		p.got(",")
	}
	p.want(")")
	return hints
}

// parenTable reads a derived table, VALUES, or joins in parentheses.
func (p *parser) parenTable() TableSource {
	at := table{p.here()}
	next := p.ahead(1)
	switch {
	case next.is("VALUES"):
		p.next()
		v := &ValuesTable{table: at, Rows: p.values()}
		p.want(")")
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
	p.want(")")
	return x
}

// parenthesisedQuery reports whether "((SELECT ...) ..." is a query rather than joins in parentheses.
func (p *parser) parenthesisedQuery() bool {
	n := p.parentheses()
	if n == 1 || !p.ahead(n).is("SELECT") {
		return false
	}
	behind := p.ahead(p.matching(1))
	return behind.is(")") || behind.is("UNION") || behind.is("EXCEPT") || behind.is("INTERSECT")
}

// values reads VALUES (...), (...).
func (p *parser) values() [][]Expr {
	p.want("VALUES")
	var rows [][]Expr
	for {
		p.want("(")
		row := []Expr{p.exprOrDefault()}
		for p.got(",") {
			row = append(row, p.exprOrDefault())
		}
		p.want(")")
		rows = append(rows, row)
		if !p.got(",") {
			return rows
		}
	}
}

// openJSON reads OPENJSON.
func (p *parser) openJSON() TableSource {
	o := &OpenJSON{table: table{p.here()}}
	p.want("OPENJSON", "(")
	o.X = p.expr()
	if p.got(",") {
		o.Path = p.expr()
	}
	p.want(")")
	if p.got("WITH", "(") {
		for {
			c := &JSONColumn{node: p.here(), Name: p.ident(), Type: p.typeRef()}
			if p.got("COLLATE") {
				c.Collation = p.ident().Name
			}
			if k := p.tok().kind; k == tokString || k == tokNString {
				c.Path = p.literal()
			}
			c.AsJSON = p.got("AS", "JSON")
			o.Columns = append(o.Columns, c)
			if !p.got(",") {
				break
			}
		}
		p.want(")")
	}
	o.Alias = p.tableAlias()
	return o
}

// pivot reads PIVOT behind x.
func (p *parser) pivot(x TableSource) TableSource {
	v := &Pivot{Source: x}
	if x != nil {
		v.at = x.Pos()
	}
	p.want("PIVOT", "(")
	e := expr{p.here()}
	v.Aggregate, _ = p.call(e, p.objectName()).(*FuncCall)
	p.want("FOR")
	e = expr{p.here()}
	v.Column = &ColumnRef{expr: e, Parts: p.parts("column")}
	p.want("IN")
	v.Values = p.identList()
	p.want(")")
	v.Alias = p.tableAlias()
	if v.Alias.Name == "" {
		p.fail()
	}
	return v
}

// unpivot reads UNPIVOT behind x.
func (p *parser) unpivot(x TableSource) TableSource {
	u := &Unpivot{Source: x}
	if x != nil {
		u.at = x.Pos()
	}
	p.want("UNPIVOT", "(")
	u.Value = p.ident()
	p.want("FOR")
	u.Column = p.ident()
	p.want("IN", "(")
	for {
		e := expr{p.here()}
		u.Columns = append(u.Columns, &ColumnRef{expr: e, Parts: p.parts("column")})
		if !p.got(",") {
			break
		}
	}
	p.want(")", ")")
	u.Alias = p.tableAlias()
	if u.Alias.Name == "" {
		p.fail()
	}
	return u
}

// queryHints reads OPTION (...); nil if there is none.
func (p *parser) queryHints() []*Option {
	if !p.got("OPTION") {
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

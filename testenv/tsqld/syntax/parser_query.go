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
	q := &Query{At: p.here()}
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
	var list []*CTE
	if p.at("XMLNAMESPACES", "(") {
		list = append(list, p.xmlNamespaces())
		if !p.accept(",") {
			return list
		}
	}
	for {
		c := &CTE{At: p.here(), Name: p.ident()}
		c.Columns = p.optionalIdentList()
		p.expect("AS")
		c.Query = p.parenQuery()
		list = append(list, c)
		if !p.accept(",") {
			return list
		}
	}
}

// xmlNamespaces reads XMLNAMESPACES ('uri' AS prefix, DEFAULT 'uri').
func (p *parser) xmlNamespaces() *CTE {
	c := &CTE{At: p.here()}
	p.expect("XMLNAMESPACES", "(")
	for {
		n := &XMLNamespace{At: p.here()}
		isDefault := p.accept("DEFAULT")
		if n.URI = p.literal(); n.URI == nil || n.URI.Kind != StringLit && n.URI.Kind != NStringLit {
			p.fail()
			return c
		}
		if !isDefault {
			p.expect("AS")
			n.Prefix = p.ident()
		}
		c.Spaces = append(c.Spaces, n)
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return c
}

// setOps reads an operand with first, and the UNION, EXCEPT and INTERSECT operators after it.
// INTERSECT binds more tightly.
func (p *parser) setOps(first func() QueryBody) QueryBody {
	before := p.beginChain()
	defer p.endChain(before)
	x := p.intersections(first)
	for {
		s := &SetOp{At: atNode(x), X: x}
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
		s := &SetOp{At: atNode(x), Kind: Intersect, X: x}
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
		q := &ParenQuery{At: p.here()}
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
	f := &ForClause{At: p.here()}
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
		o := &Option{At: p.here(), Name: p.next().upper}
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
	t := &Top{At: p.here()}
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
	s := &Select{At: p.here()}
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
			w := &WindowDef{At: p.here(), Name: p.ident()}
			p.expect("AS")
			w.Over = &Over{At: p.here()}
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
	n := p.here()
	t := p.current()
	if p.accept("*") {
		return &SelectStar{At: n}
	}
	if t.kind == tokVar && atAssign(p.peek(1)) {
		p.next()
		op := p.assign()
		return &SelectAssign{At: n, Var: t.text, Op: op, X: p.expr()}
	}
	if (atIdent(t) || t.kind == tokString || t.kind == tokNString) && p.peek(1).is("=") {
		alias := p.alias()
		p.expect("=")
		return &SelectExpr{At: n, Alias: alias, X: p.expr()}
	}
	if atIdent(t) { // t.*, s.t.*
		k := 1
		for p.peek(k).is(".") && atIdent(p.peek(k+1)) {
			k += 2
		}
		if p.peek(k).is(".") && p.peek(k+1).is("*") {
			q := p.parts("column")
			p.expect(".", "*")
			return &SelectStar{At: n, Qualifier: q}
		}
	}
	item := &SelectExpr{At: n, X: p.expr()}
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
	g := &GroupBy{At: p.here()}
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
		g.Items = []*GroupItem{{At: g.At, Kind: kind, Sub: g.Items}}
	}
	return g
}

// groupItem reads an element of GROUP BY. inside allows lists in parentheses, as in ROLLUP and
// CUBE.
func (p *parser) groupItem(inside bool) *GroupItem {
	g := &GroupItem{At: p.here()}
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

package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// parenQuery reads a query in parentheses.
func (p *parser) parenQuery() *syntax.Query {
	p.expect("(")
	q := p.query()
	p.expect(")")
	return q
}

// query reads a query with ORDER BY and FOR. It also reads WITH, although only some places allow
// WITH.
func (p *parser) query() *syntax.Query {
	q := &syntax.Query{At: p.here()}
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
func (p *parser) with() []*syntax.CTE {
	p.expect("WITH")
	var list []*syntax.CTE
	if p.at("XMLNAMESPACES", "(") {
		list = append(list, p.xmlNamespaces())
		if !p.accept(",") {
			return list
		}
	}
	for {
		c := &syntax.CTE{At: p.here(), Name: p.ident()}
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
func (p *parser) xmlNamespaces() *syntax.CTE {
	c := &syntax.CTE{At: p.here()}
	p.expect("XMLNAMESPACES", "(")
	for {
		n := &syntax.XMLNamespace{At: p.here()}
		isDefault := p.accept("DEFAULT")
		if n.URI = p.literal(); n.URI == nil || n.URI.Kind != syntax.StringLit && n.URI.Kind != syntax.NStringLit {
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
func (p *parser) setOps(first func() syntax.QueryBody) syntax.QueryBody {
	before := p.beginChain()
	defer p.endChain(before)
	x := p.intersections(first)
	for {
		s := &syntax.SetOp{At: atNode(x), X: x}
		switch {
		case p.accept("UNION", "ALL"):
			s.Kind = syntax.UnionAll
		case p.accept("UNION"):
			s.Kind = syntax.Union
		case p.accept("EXCEPT"):
			s.Kind = syntax.Except
		default:
			return x
		}
		p.addOperator()
		s.Y = p.intersections(p.queryOperand)
		x = s
	}
}

// intersections reads an operand with first, and the INTERSECT operators after it.
func (p *parser) intersections(first func() syntax.QueryBody) syntax.QueryBody {
	before := p.beginChain()
	defer p.endChain(before)
	x := first()
	for p.accept("INTERSECT") {
		p.addOperator()
		s := &syntax.SetOp{At: atNode(x), Kind: syntax.Intersect, X: x}
		s.Y = p.queryOperand()
		x = s
	}
	return x
}

// queryOperand reads SELECT or a query in parentheses.
func (p *parser) queryOperand() syntax.QueryBody {
	if p.at("(") {
		if !p.enter() {
			return nil
		}
		defer p.leave()
		q := &syntax.ParenQuery{At: p.here()}
		p.next()
		q.X = p.setOps(p.queryOperand)
		p.expect(")")
		return q
	}
	return p.selectBody()
}

// queryTail reads ORDER BY, OFFSET, FETCH and FOR.
func (p *parser) queryTail(q *syntax.Query) {
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
	if p.at("FOR") && (p.peek(1).Is("JSON") || p.peek(1).Is("XML") || p.peek(1).Is("BROWSE")) {
		q.For = p.forClause()
	}
}

// forClause reads FOR JSON, FOR XML and FOR BROWSE.
func (p *parser) forClause() *syntax.ForClause {
	f := &syntax.ForClause{At: p.here()}
	p.expect("FOR")
	switch p.next().Upper {
	case "BROWSE":
		f.Kind = syntax.ForBrowse
		return f
	case "JSON":
		f.Kind = syntax.ForJSON
		f.Mode = p.expectAny("PATH", "AUTO")
	case "XML":
		f.Kind = syntax.ForXML
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
		o := &syntax.Option{At: p.here(), Name: p.next().Upper}
		switch {
		case o.Name == "ELEMENTS" && p.atAny("XSINIL", "ABSENT"), o.Name == "BINARY":
			o.Name += " " + p.next().Upper
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
		if f.Kind == syntax.ForXML {
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
func (p *parser) changeTop() *syntax.Top {
	if p.at("TOP") && !p.peek(1).Is("(") {
		p.failAt(p.peek(1))
		return nil
	}
	return p.top()
}

// top reads TOP; it returns nil if there is none.
func (p *parser) top() *syntax.Top {
	if !p.at("TOP") {
		return nil
	}
	t := &syntax.Top{At: p.here()}
	p.next()
	if p.at("(", "SELECT") {
		t.Count = p.expr()
	} else if p.accept("(") {
		t.Paren = true
		t.Count = p.expr()
		p.expect(")")
	} else if l := p.literal(); l != nil && (l.Kind == syntax.IntLit || l.Kind == syntax.DecimalLit || l.Kind == syntax.FloatLit) {
		t.Count = l
	} else {
		p.fail()
	}
	t.Percent = p.accept("PERCENT")
	t.WithTies = p.accept("WITH", "TIES")
	return t
}

// selectBody reads SELECT up to HAVING and WINDOW.
func (p *parser) selectBody() syntax.QueryBody {
	s := &syntax.Select{At: p.here()}
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
			w := &syntax.WindowDef{At: p.here(), Name: p.ident()}
			p.expect("AS")
			w.Over = &syntax.Over{At: p.here()}
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
	return p.at("WINDOW") && p.peek(1).IsName() && p.peek(2).Is("AS") && p.peek(3).Is("(")
}

// selectItems reads a select list.
func (p *parser) selectItems() []syntax.SelectItem {
	items := []syntax.SelectItem{p.selectItem()}
	for p.accept(",") {
		items = append(items, p.selectItem())
	}
	return items
}

// assignOps are the assignment operators of variables and columns.
var assignOps = map[string]syntax.Op{
	"=":  syntax.OpNone,
	"+=": syntax.OpAdd,
	"-=": syntax.OpSub,
	"*=": syntax.OpMul,
	"/=": syntax.OpDiv,
	"%=": syntax.OpMod,
	"&=": syntax.OpBitAnd,
	"|=": syntax.OpBitOr,
	"^=": syntax.OpBitXor,
}

// atAssign reports whether t is an assignment operator.
func atAssign(t *scanner.Token) bool {
	if t.Kind != scanner.Operator {
		return false
	}
	_, ok := assignOps[t.Text]
	return ok
}

// assign consumes an assignment operator.
func (p *parser) assign() syntax.Op {
	if !atAssign(p.current()) {
		p.fail()
		return syntax.OpNone
	}
	return assignOps[p.next().Text]
}

// selectItem reads an item of a select list or of OUTPUT.
func (p *parser) selectItem() syntax.SelectItem {
	n := p.here()
	t := p.current()
	if p.accept("*") {
		return &syntax.SelectStar{At: n}
	}
	if t.Kind == scanner.Variable && atAssign(p.peek(1)) {
		p.next()
		op := p.assign()
		return &syntax.SelectAssign{At: n, Var: t.Text, Op: op, X: p.expr()}
	}
	if (t.IsName() || t.Kind == scanner.String || t.Kind == scanner.NString) && p.peek(1).Is("=") {
		alias := p.alias()
		p.expect("=")
		return &syntax.SelectExpr{At: n, Alias: alias, X: p.expr()}
	}
	if t.IsName() { // t.*, s.t.*
		k := 1
		for p.peek(k).Is(".") && p.peek(k+1).IsName() {
			k += 2
		}
		if p.peek(k).Is(".") && p.peek(k+1).Is("*") {
			q := p.parts("column")
			p.expect(".", "*")
			return &syntax.SelectStar{At: n, Qualifier: q}
		}
	}
	item := &syntax.SelectExpr{At: n, X: p.expr()}
	if p.accept("AS") {
		item.Alias = p.alias()
	} else if a := p.current(); !p.atWindow() && !p.atLabel() &&
		(a.IsName() || a.Kind == scanner.String || a.Kind == scanner.NString) {
		item.Alias = p.alias()
	}
	return item
}

// alias reads the alias of a column, which may be a string.
func (p *parser) alias() syntax.Ident {
	t := p.current()
	if t.Kind == scanner.String || t.Kind == scanner.NString {
		if t.Text == "" {
			p.errorAt(t, mserr.MissingName())
		}
		p.next()
		return syntax.Ident{Name: t.Text, Quoted: true, At: t.At}
	}
	return p.ident()
}

// groupBy reads GROUP BY.
func (p *parser) groupBy() *syntax.GroupBy {
	g := &syntax.GroupBy{At: p.here()}
	p.expect("GROUP", "BY")
	g.All = p.accept("ALL")
	for {
		g.Items = append(g.Items, p.groupItem(false))
		if !p.accept(",") {
			break
		}
	}
	if p.at("WITH") && (p.peek(1).Is("ROLLUP") || p.peek(1).Is("CUBE")) {
		p.next()
		kind := syntax.GroupRollup
		if p.next().Upper == "CUBE" {
			kind = syntax.GroupCube
		}
		g.Items = []*syntax.GroupItem{{At: g.At, Kind: kind, Sub: g.Items}}
	}
	return g
}

// groupItem reads an element of GROUP BY. inside allows lists in parentheses, as in ROLLUP and
// CUBE.
func (p *parser) groupItem(inside bool) *syntax.GroupItem {
	g := &syntax.GroupItem{At: p.here()}
	if !p.enter() {
		return g
	}
	defer p.leave()
	switch {
	case p.accept("ROLLUP", "("):
		g.Kind = syntax.GroupRollup
	case p.accept("CUBE", "("):
		g.Kind = syntax.GroupCube
	case p.accept("GROUPING", "SETS", "("):
		g.Kind = syntax.GroupSets
	case p.at("(", ")"), inside && p.at("(") && p.listFollows():
		p.next()
		g.Kind = syntax.GroupList
		if p.accept(")") {
			return g
		}
	default:
		g.X = p.expr()
		return g
	}
	for {
		g.Sub = append(g.Sub, p.groupItem(g.Kind != syntax.GroupList))
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
	return t.Is(",") || t.Is(")")
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
			case t.Is("("):
				open = append(open, int32(i))
			case t.Is(")") && len(open) > 0:
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
		for p.peek(n).Is("(") {
			n++
		}
		p.parenRun.start, p.parenRun.end = p.pos, p.pos+n
	}
	return p.parenRun.end - p.pos
}

// queryHints reads OPTION (...); it returns nil if there is none.
func (p *parser) queryHints() []*syntax.Option {
	if !p.accept("OPTION") {
		return nil
	}
	return p.options(true)
}

// selectStmt reads a query as a statement.
func (p *parser) selectStmt() syntax.Stmt {
	s := &syntax.SelectStmt{Query: p.query()}
	s.Hints = p.queryHints()
	return s
}

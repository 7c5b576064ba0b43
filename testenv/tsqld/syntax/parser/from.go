package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// tableSources reads the items after FROM.
func (p *parser) tableSources() []syntax.TableSource {
	list := []syntax.TableSource{p.tableSource()}
	for p.accept(",") {
		list = append(list, p.tableSource())
	}
	return list
}

// tableSource reads a table source with its joins.
func (p *parser) tableSource() syntax.TableSource { return p.joins(false) }

// joins reads a table source and the joins after it. If right is set, it reads the right side of a
// join with ON and stops at that ON: "a JOIN b JOIN c ON x ON y" nests to the right.
func (p *parser) joins(right bool) syntax.TableSource {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	before := p.beginChain()
	defer p.endChain(before)
	x := p.tableOperand()
	for !right || !p.at("ON") {
		j := &syntax.Join{At: atNode(x), Left: x}
		switch {
		case p.accept("CROSS", "JOIN"):
			j.Kind, j.Right = syntax.CrossJoin, p.tableOperand()
		case p.accept("CROSS", "APPLY"):
			j.Kind, j.Right = syntax.CrossApply, p.tableOperand()
		case p.accept("OUTER", "APPLY"):
			j.Kind, j.Right = syntax.OuterApply, p.tableOperand()
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
func (p *parser) joinKind(j *syntax.Join) {
	switch p.acceptAny("INNER", "LEFT", "RIGHT", "FULL") {
	case "LEFT":
		j.Kind = syntax.LeftJoin
	case "RIGHT":
		j.Kind = syntax.RightJoin
	case "FULL":
		j.Kind = syntax.FullJoin
	}
	if j.Kind != syntax.InnerJoin {
		p.accept("OUTER")
	}
	j.Hint = p.acceptAny("LOOP", "HASH", "MERGE", "REMOTE")
	p.expect("JOIN")
}

// tableAlias reads [AS] alias; the result is zero if there is none.
func (p *parser) tableAlias() syntax.Ident {
	if p.accept("AS") {
		return p.ident()
	}
	t := p.current()
	if !t.IsName() || p.atWindow() || p.atLabel() {
		return syntax.Ident{}
	}
	return p.ident()
}

// rejectedTables are the table sources that Parse refuses, with their name in the error.
var rejectedTables = map[string]string{
	"OPENROWSET":     "OPENROWSET",
	"OPENDATASOURCE": "OPENDATASOURCE",
	"OPENQUERY":      "OPENQUERY",
	"OPENXML":        "OPENXML",
	"CHANGETABLE":    "CHANGETABLE",
	"PREDICT":        "PREDICT",
}

// tableOperand reads one table source with its PIVOT and UNPIVOT operators.
func (p *parser) tableOperand() syntax.TableSource {
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
func (p *parser) tableAtom() syntax.TableSource {
	t := p.current()
	at := p.here()
	switch {
	case t.Kind == scanner.Variable:
		p.next()
		if p.at(".") {
			return p.methodTable(at, t)
		}
		return &syntax.TableVar{At: at, Name: t.Text, Alias: p.tableAlias()}
	case p.at("("):
		return p.parenTable()
	case p.at("OPENJSON", "("):
		return p.openJSON()
	case p.at("{", "OJ"):
		return p.outerJoinEscape()
	case (t.Is("CONTAINSTABLE") || t.Is("FREETEXTTABLE")) && p.peek(1).Is("("):
		return p.fullTextTable(at)
	case rejectedTables[t.Upper] != "" && p.peek(1).Is("("):
		p.reject(rejectedTables[t.Upper])
		return nil
	}
	p.accept("::")
	name := p.objectName()
	if p.at("(") && !p.atOldHints() {
		f := &syntax.TableFunc{At: at}
		f.Call, _ = p.call(at, name).(*syntax.FuncCall)
		if p.at("WITH", "(") {
			p.reject("a WITH clause behind a function other than OPENJSON")
		}
		f.Alias = p.tableAlias()
		f.Columns = p.optionalIdentList()
		return f
	}
	tn := &syntax.TableName{At: at, Name: name}
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

// methodTable reads the methods of a variable, the last of which is nodes.
func (p *parser) methodTable(at syntax.At, variable *scanner.Token) syntax.TableSource {
	var x syntax.Expr = &syntax.VarRef{At: at, Name: variable.Text}
	before := p.beginChain()
	defer p.endChain(before)
	for p.at(".") {
		p.addOperator()
		x = p.method(x)
	}
	m := &syntax.MethodTable{At: at, Alias: p.tableAlias()}
	m.Call, _ = x.(*syntax.MethodCall)
	m.Columns = p.optionalIdentList()
	return m
}

// tableHintNames are the hints of WITH (...) after a table.
var tableHintNames = scanner.WordSet(`
	NOLOCK READUNCOMMITTED READCOMMITTED READCOMMITTEDLOCK REPEATABLEREAD SERIALIZABLE HOLDLOCK
	UPDLOCK XLOCK ROWLOCK PAGLOCK TABLOCK TABLOCKX NOWAIT READPAST NOEXPAND INDEX FORCESEEK FORCESCAN KEEPIDENTITY
	KEEPDEFAULTS IGNORE_CONSTRAINTS IGNORE_TRIGGERS SNAPSHOT SPATIAL_WINDOW_MAX_CELLS FASTFIRSTROW`)

// atOldHints reports whether a hint without WITH comes next. Such a hint is the only one: t
// (NOLOCK).
func (p *parser) atOldHints() bool {
	return p.at("(") && p.peek(1).Kind == scanner.Word && tableHintNames[p.peek(1).Upper] && p.peek(2).Is(")")
}

// tableHints reads WITH (...) after a table, and the old form without WITH.
func (p *parser) tableHints() []*syntax.TableHint {
	if p.at("HOLDLOCK") { // the only hint without parentheses
		h := &syntax.TableHint{At: p.here(), Name: p.next().Upper}
		return []*syntax.TableHint{h}
	}
	if !p.at("WITH", "(") && !p.atOldHints() {
		return nil
	}
	p.accept("WITH")
	p.expect("(")
	var hints []*syntax.TableHint
	for !p.at(")") {
		t := p.current()
		if t.Kind != scanner.Word || !tableHintNames[t.Upper] {
			if t.Kind == scanner.Word && !t.IsReserved() {
				p.errorAt(t, mserr.NotRecognized(t.Text, "table hints option"))
			}
			p.fail()
			return nil
		}
		h := &syntax.TableHint{At: p.here(), Name: t.Upper}
		p.next()
		if p.accept("=") {
			h.Args = []syntax.Expr{p.expr()}
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
func (p *parser) parenTable() syntax.TableSource {
	at := p.here()
	next := p.peek(1)
	switch {
	case next.Is("VALUES"):
		p.next()
		v := &syntax.ValuesTable{At: at, Rows: p.values()}
		p.expect(")")
		v.Alias = p.tableAlias()
		v.Columns = p.optionalIdentList()
		return v
	case next.Is("INSERT"), next.Is("UPDATE"), next.Is("DELETE"), next.Is("MERGE"):
		p.reject("a data change with OUTPUT in FROM")
		return nil
	case next.Is("SELECT"), next.Is("WITH"), p.parenthesisedQuery():
		d := &syntax.DerivedTable{At: at, Query: p.parenQuery(), Alias: p.tableAlias()}
		if d.Alias.Name == "" {
			p.fail()
		}
		d.Columns = p.optionalIdentList()
		return d
	}
	p.next()
	x := &syntax.ParenTable{At: at, X: p.tableSource()}
	p.expect(")")
	return x
}

// parenthesisedQuery reports whether "((SELECT ...) ..." is a query rather than joins in
// parentheses.
func (p *parser) parenthesisedQuery() bool {
	n := p.parentheses()
	if n == 1 || !p.peek(n).Is("SELECT") {
		return false
	}
	behind := p.peek(p.matching(1))
	return behind.Is(")") || behind.Is("UNION") || behind.Is("EXCEPT") || behind.Is("INTERSECT")
}

// values reads VALUES (...), (...).
func (p *parser) values() [][]syntax.Expr {
	p.expect("VALUES")
	var rows [][]syntax.Expr
	for {
		p.expect("(")
		row := []syntax.Expr{p.exprOrDefault()}
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
func (p *parser) openJSON() syntax.TableSource {
	o := &syntax.OpenJSON{At: p.here()}
	p.expect("OPENJSON", "(")
	o.X = p.expr()
	if p.accept(",") {
		o.Path = p.expr()
	}
	p.expect(")")
	if p.accept("WITH", "(") {
		for {
			c := &syntax.JSONColumn{At: p.here(), Name: p.ident(), Type: p.typeRef()}
			if p.accept("COLLATE") {
				c.Collation = p.ident().Name
			}
			if k := p.current().Kind; k == scanner.String || k == scanner.NString {
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
func (p *parser) pivot(x syntax.TableSource) syntax.TableSource {
	v := &syntax.Pivot{At: atNode(x), Source: x}
	p.expect("PIVOT", "(")
	e := p.here()
	v.Aggregate, _ = p.call(e, p.objectName()).(*syntax.FuncCall)
	p.expect("FOR")
	e = p.here()
	v.Column = &syntax.ColumnRef{At: e, Parts: p.parts("column")}
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
func (p *parser) unpivot(x syntax.TableSource) syntax.TableSource {
	u := &syntax.Unpivot{At: atNode(x), Source: x}
	p.expect("UNPIVOT", "(")
	u.Value = p.ident()
	p.expect("FOR")
	u.Column = p.ident()
	p.expect("IN", "(")
	for {
		e := p.here()
		u.Columns = append(u.Columns, &syntax.ColumnRef{At: e, Parts: p.parts("column")})
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

package ddl

import (
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/printer"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// definition writes the text of a DEFAULT, a CHECK, a computed column or an index filter in the
// form in which SQL Server stores it. Schema compare tools read the text in
// sys.default_constraints, sys.check_constraints, sys.computed_columns and sys.indexes. Names are
// in brackets, numbers in parentheses, built-in functions in lower case. Other parentheses occur
// only where the precedence requires them. IN and BETWEEN become comparisons, and CAST becomes
// CONVERT. The form is not documented; it was derived from published scripts and from tests that
// other projects run on SQL Server. The meaning of the text does not change.
type definition struct {
	b strings.Builder
	t *catalog.Table // for the spelling of column names
	// sequence returns the full name of a sequence; nil keeps names unchanged.
	sequence func(*syntax.ObjectName) string
	// filter is true for an index filter, in which IN stays IN.
	filter bool
}

// Precedences, from "Operator Precedence (Transact-SQL)". An operand with a lower precedence than
// its operator needs parentheses.
const (
	precOr = iota + 1
	precAnd
	precNot
	precCompare
	precAdd // includes bit operators, as in T-SQL
	precMul
	precUnary
	precPrimary
)

// definitionText returns the text of an expression of a table, in parentheses.
func (b *builder) definitionText(n syntax.Node) string {
	return definitionOf(n, b.t, b.sequenceName, false)
}

// filterText returns the text of an index filter, in parentheses.
func (b *builder) filterText(c syntax.Cond) string {
	return definitionOf(c, b.t, b.sequenceName, true)
}

// sequenceName returns the full name of a sequence in brackets.
func (b *builder) sequenceName(n *syntax.ObjectName) string {
	schema := n.Schema()
	if schema == "" {
		schema = "dbo"
		if own := b.r.s.DefaultSchema(); b.d.Sequence(own, n.Last()) != nil {
			schema = own
		}
	}
	name := syntax.QuoteName(schema) + "." + syntax.QuoteName(n.Last())
	if n.Database() != "" && !catalog.EqualNames(n.Database(), b.d.Name) {
		name = syntax.QuoteName(n.Database()) + "." + name
	}
	return name
}

// definitionOf returns the text of an expression or condition, in parentheses.
func definitionOf(n syntax.Node, t *catalog.Table, sequence func(*syntax.ObjectName) string, filter bool) string {
	d := definition{t: t, sequence: sequence, filter: filter}
	d.w("(")
	switch n := n.(type) {
	case syntax.Expr:
		d.expr(n, 0)
	case syntax.Cond:
		d.cond(n, 0)
	}
	d.w(")")
	return d.b.String()
}

// w writes text.
func (d *definition) w(parts ...string) {
	for _, s := range parts {
		d.b.WriteString(s)
	}
}

// wrap calls write, in parentheses if the own precedence is lower than the outer one.
func (d *definition) wrap(own, outer int, write func()) {
	if own >= outer {
		write()
		return
	}
	d.w("(")
	write()
	d.w(")")
}

// args writes values separated by commas.
func (d *definition) args(list []syntax.Expr) {
	for i, x := range list {
		if i > 0 {
			d.w(",")
		}
		d.expr(x, 0)
	}
}

// precedenceOf returns the precedence of a binary operator.
func precedenceOf(op syntax.Op) int {
	switch op {
	case syntax.OpMul, syntax.OpDiv, syntax.OpMod:
		return precMul
	}
	return precAdd
}

// expr writes a value, in parentheses if its precedence is lower than outer.
func (d *definition) expr(x syntax.Expr, outer int) {
	switch x := unparen(x).(type) {
	case *syntax.Literal:
		d.literal(x, "")
	case *syntax.ColumnRef:
		d.column(x.Column())
	case *syntax.UnaryExpr:
		d.unary(x, outer)
	case *syntax.BinaryExpr:
		p := precedenceOf(x.Op)
		d.wrap(p, outer, func() {
			d.expr(x.X, p)
			d.w(x.Op.String())
			d.expr(x.Y, p+1)
		})
	case *syntax.CollateExpr:
		d.expr(x.X, precPrimary)
		d.w(" collate ", x.Collation)
	case *syntax.AtTimeZoneExpr:
		d.expr(x.X, precPrimary)
		d.w(" AT TIME ZONE ")
		d.expr(x.Zone, precPrimary)
	case *syntax.CaseExpr:
		d.caseExpr(x)
	case *syntax.IIfExpr:
		d.w("case when ")
		d.cond(x.Cond, 0)
		d.w(" then ")
		d.expr(x.Then, 0)
		d.w(" else ")
		d.expr(x.Else, 0)
		d.w(" end")
	default:
		d.callLike(x)
	}
}

// callLike writes function calls and similar expressions.
func (d *definition) callLike(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.FuncCall:
		d.call(x)
	case *syntax.CastExpr:
		if x.Try {
			d.w("TRY_CAST(")
			d.expr(x.X, 0)
			d.w(" AS ", d.typeRef(x.Type), ")")
			return
		}
		d.convert(x.Type, x.X, nil, false)
	case *syntax.ConvertExpr:
		d.convert(x.Type, x.X, x.Style, x.Try)
	case *syntax.ParseAsExpr:
		if x.Try {
			d.w("TRY_")
		}
		d.w("PARSE(")
		d.expr(x.X, 0)
		d.w(" AS ", d.typeRef(x.Type))
		if x.Culture != nil {
			d.w(" USING ")
			d.expr(x.Culture, 0)
		}
		d.w(")")
	case *syntax.NextValueExpr:
		name := printer.Print(x.Sequence)
		if d.sequence != nil {
			name = d.sequence(x.Sequence)
		}
		d.w("NEXT VALUE FOR ", name)
	default:
		d.w(printer.Print(x))
	}
}

// column writes the name of a column in the spelling of its table.
func (d *definition) column(name string) {
	if d.t != nil {
		if c := d.t.Column(name); c != nil {
			name = c.Name
		}
	}
	d.w(syntax.QuoteName(name))
}

// unary writes a sign or ~. Signs before a number become part of the number.
func (d *definition) unary(x *syntax.UnaryExpr, outer int) {
	switch x.Op {
	case syntax.OpBitNot:
		d.wrap(precUnary, outer, func() {
			d.w("~")
			d.expr(x.X, precUnary)
		})
		return
	case syntax.OpPlus:
		d.expr(x.X, outer)
		return
	}
	sign := "-"
	in := unparen(x.X)
	for {
		u, ok := in.(*syntax.UnaryExpr)
		if !ok || u.Op == syntax.OpBitNot {
			break
		}
		if u.Op == syntax.OpMinus {
			sign = map[string]string{"-": "", "": "-"}[sign]
		}
		in = unparen(u.X)
	}
	if l, ok := in.(*syntax.Literal); ok && isNumberLiteral(l) {
		d.literal(l, sign)
		return
	}
	d.wrap(precUnary, outer, func() {
		d.w(" -")
		d.expr(x.X, precUnary)
	})
}

// isNumberLiteral reports whether SQL Server encloses a constant in parentheses.
func isNumberLiteral(l *syntax.Literal) bool {
	return l.Kind >= syntax.IntLit && l.Kind <= syntax.MoneyLit
}

// literal writes a constant. Numbers are in parentheses, together with their sign.
func (d *definition) literal(l *syntax.Literal, sign string) {
	text := l.Text
	switch l.Kind {
	case syntax.IntLit:
		text = strings.TrimLeft(text, "0")
		if text == "" {
			text = "0"
		}
	case syntax.DecimalLit:
		if strings.HasPrefix(text, ".") {
			text = "0" + text
		}
	case syntax.FloatLit:
		text = floatText(text)
	case syntax.MoneyLit:
		text = "$" + text
	default:
		d.w(printer.Print(l))
		return
	}
	d.w("(", sign, text, ")")
}

// floatText formats a float constant with 16 decimals and an exponent of three digits:
// 1.5000000000000000e+000.
func floatText(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	s := strconv.FormatFloat(f, 'e', 16, 64)
	at := strings.IndexByte(s, 'e') + 2
	return s[:at] + strings.Repeat("0", max(3-len(s[at:]), 0)) + s[at:]
}

// typeRef returns the name of a type in brackets, with its length.
func (d *definition) typeRef(ref *syntax.TypeRef) string {
	parts := make([]string, len(ref.Name.Parts))
	for i, p := range ref.Name.Parts {
		name := p.Name
		if i == len(parts)-1 && types.Known(name) {
			name = types.Canonical(name)
		}
		parts[i] = syntax.QuoteName(name)
	}
	text := strings.Join(parts, ".")
	if ref.Max {
		return text + "(max)"
	}
	for i, n := range ref.Args {
		text += string("(,"[min(i, 1)]) + strconv.Itoa(n)
	}
	if len(ref.Args) > 0 {
		text += ")"
	}
	return text
}

// convert writes CONVERT.
func (d *definition) convert(ref *syntax.TypeRef, x, style syntax.Expr, try bool) {
	if try {
		d.w("TRY_")
	}
	d.w("CONVERT(", d.typeRef(ref), ",")
	d.expr(x, 0)
	if style != nil {
		d.w(",")
		d.expr(style, 0)
	}
	d.w(")")
}

// noParens are the functions with which SQL Server replaces keywords of the SQL standard.
var noParens = map[string]string{
	"CURRENT_TIMESTAMP": "getdate()", "CURRENT_USER": "user_name()", "SESSION_USER": "user_name()",
	"USER": "user_name()", "SYSTEM_USER": "suser_sname()",
}

// call writes a function call. Built-in functions are in lower case, names of other functions in
// brackets.
func (d *definition) call(f *syntax.FuncCall) {
	name := f.Name.Last()
	own := len(f.Name.Parts) == 1
	if own && f.NoParens {
		if s := noParens[strings.ToUpper(name)]; s != "" {
			d.w(s)
			return
		}
		d.w(printer.Print(f))
		return
	}
	if f.Over != nil || f.WithinGroup != nil || f.Star || f.Distinct {
		d.w(printer.Print(f))
		return
	}
	switch upper := strings.ToUpper(name); {
	case own && len(f.Args) == 1 && (upper == "YEAR" || upper == "MONTH" || upper == "DAY"):
		d.w("datepart(", strings.ToLower(upper), ",")
	case own:
		d.w(strings.ToLower(name), "(")
	default:
		for i, p := range f.Name.Parts {
			if i > 0 {
				d.w(".")
			}
			d.w(syntax.QuoteName(p.Name))
		}
		d.w("(")
	}
	args := f.Args
	if len(args) > 0 {
		if k, ok := args[0].(*syntax.Keyword); ok {
			d.w(builtin.DatePartName(k.Name))
			if args = args[1:]; len(args) > 0 {
				d.w(",")
			}
		}
	}
	d.args(args)
	d.w(")")
}

// caseExpr writes CASE. Without ELSE there are two blanks before end.
func (d *definition) caseExpr(x *syntax.CaseExpr) {
	d.w("case")
	if x.Operand != nil {
		d.w(" ")
		d.expr(x.Operand, 0)
	}
	for _, w := range x.Whens {
		d.w(" when ")
		if w.Cond != nil {
			d.cond(w.Cond, 0)
		} else {
			d.expr(w.Value, 0)
		}
		d.w(" then ")
		d.expr(w.Then, 0)
	}
	d.w(" ")
	if x.Else != nil {
		d.w("else ")
		d.expr(x.Else, 0)
	}
	d.w(" end")
}

// cond writes a condition, in parentheses if its precedence is lower than outer.
func (d *definition) cond(c syntax.Cond, outer int) {
	switch c := c.(type) {
	case *syntax.ParenCond:
		d.cond(c.X, outer)
	case *syntax.LogicCond:
		p := precAnd
		if c.Op == syntax.OpOr {
			p = precOr
		}
		d.wrap(p, outer, func() {
			d.cond(c.X, p)
			d.w(" ", c.Op.String(), " ")
			d.cond(c.Y, p+1)
		})
	case *syntax.NotCond:
		d.not(outer, func() { d.cond(c.X, precNot) })
	case *syntax.CompareCond:
		d.compare(c.X, c.Op.String(), c.Y)
	case *syntax.LikeCond:
		d.negatable(c.Not, outer, precCompare, func() {
			d.expr(c.X, precAdd)
			d.w(" like ")
			d.expr(c.Pattern, precAdd)
			if c.Escape != nil {
				d.w(" escape ")
				d.expr(c.Escape, precAdd)
			}
		})
	case *syntax.BetweenCond:
		d.negatable(c.Not, outer, precAnd, func() {
			d.compare(c.X, ">=", c.Low)
			d.w(" AND ")
			d.compare(c.X, "<=", c.High)
		})
	case *syntax.InCond:
		d.in(c, outer)
	case *syntax.IsNullCond:
		d.expr(c.X, precAdd)
		if c.Not {
			d.w(" IS NOT NULL")
		} else {
			d.w(" IS NULL")
		}
	default:
		d.w(printer.Print(c))
	}
}

// not writes NOT and then calls write.
func (d *definition) not(outer int, write func()) {
	d.wrap(precNot, outer, func() {
		d.w("NOT ")
		write()
	})
}

// negatable calls write, after NOT if negated is true. own is the precedence of the text.
func (d *definition) negatable(negated bool, outer, own int, write func()) {
	if negated {
		d.not(outer, func() { d.wrap(own, precNot, write) })
		return
	}
	d.wrap(own, outer, write)
}

// compare writes a comparison.
func (d *definition) compare(x syntax.Expr, op string, y syntax.Expr) {
	d.expr(x, precAdd)
	d.w(op)
	d.expr(y, precAdd)
}

// in writes IN (list) as comparisons, from the last value to the first. In an index filter, which
// does not allow OR, it stays IN.
func (d *definition) in(c *syntax.InCond, outer int) {
	switch {
	case c.Query != nil:
		d.w(printer.Print(c))
	case len(c.List) == 1:
		d.negatable(c.Not, outer, precCompare, func() { d.compare(c.X, "=", c.List[0]) })
	case d.filter:
		d.negatable(c.Not, outer, precOr, func() {
			d.expr(c.X, precAdd)
			d.w(" IN (")
			for i, x := range c.List {
				if i > 0 {
					d.w(", ")
				}
				d.expr(x, 0)
			}
			d.w(")")
		})
	default:
		d.negatable(c.Not, outer, precOr, func() {
			for i := len(c.List) - 1; i >= 0; i-- {
				d.compare(c.X, "=", c.List[i])
				if i > 0 {
					d.w(" OR ")
				}
			}
		})
	}
}

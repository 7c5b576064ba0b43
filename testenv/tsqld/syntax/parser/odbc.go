package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// odbc reads ODBC's escape sequences {fn f(x)}, {d '...'}, {t '...'}, {ts '...'} and {guid '...'}.
func (p *parser) odbc() syntax.Expr {
	e := p.here()
	p.expect("{")
	kinds := map[string]syntax.LiteralKind{"D": syntax.DateLit, "T": syntax.TimeLit, "TS": syntax.TimestampLit, "GUID": syntax.GUIDLit}
	t := p.next()
	if kind, ok := kinds[t.Upper]; ok && p.current().Kind == scanner.String {
		l := &syntax.Literal{At: e, Kind: kind, Text: p.next().Text}
		p.expect("}")
		return l
	}
	if t.Upper != "FN" {
		p.failAt(t)
		return nil
	}
	x := p.odbcCall(e)
	p.expect("}")
	return x
}

// odbcNames maps ODBC's scalar functions to T-SQL functions with another name and the same
// arguments ("ODBC Scalar Functions (Transact-SQL)", ODBC's appendix E).
var odbcNames = map[string]string{
	"LCASE":             "LOWER",
	"UCASE":             "UPPER",
	"LENGTH":            "LEN",
	"CHAR_LENGTH":       "LEN",
	"CHARACTER_LENGTH":  "LEN",
	"OCTET_LENGTH":      "DATALENGTH",
	"LOCATE":            "CHARINDEX",
	"REPEAT":            "REPLICATE",
	"INSERT":            "STUFF",
	"ATAN2":             "ATN2",
	"NOW":               "GETDATE",
	"CURRENT_TIMESTAMP": "GETDATE",
	"DAYOFMONTH":        "DAY",
	"IFNULL":            "ISNULL",
	"DATABASE":          "DB_NAME",
	"USER":              "USER_NAME",
}

// odbcParts maps ODBC's functions of a date part to a T-SQL function and the date part.
var odbcParts = map[string][2]string{
	"DAYNAME":   {"DATENAME", "weekday"},
	"MONTHNAME": {"DATENAME", "month"},
	"DAYOFWEEK": {"DATEPART", "weekday"},
	"DAYOFYEAR": {"DATEPART", "dayofyear"},
	"HOUR":      {"DATEPART", "hour"},
	"MINUTE":    {"DATEPART", "minute"},
	"SECOND":    {"DATEPART", "second"},
	"QUARTER":   {"DATEPART", "quarter"},
	"WEEK":      {"DATEPART", "week"},
}

// odbcIntervals maps the intervals of TIMESTAMPADD and TIMESTAMPDIFF to date parts.
var odbcIntervals = map[string]string{
	"SQL_TSI_SECOND":  "second",
	"SQL_TSI_MINUTE":  "minute",
	"SQL_TSI_HOUR":    "hour",
	"SQL_TSI_DAY":     "day",
	"SQL_TSI_WEEK":    "week",
	"SQL_TSI_MONTH":   "month",
	"SQL_TSI_QUARTER": "quarter",
	"SQL_TSI_YEAR":    "year",
}

// odbcTypes maps the types of ODBC's CONVERT to T-SQL types.
var odbcTypes = map[string]string{
	"SQL_BIGINT":         "bigint",
	"SQL_BINARY":         "binary",
	"SQL_BIT":            "bit",
	"SQL_CHAR":           "char",
	"SQL_DATE":           "date",
	"SQL_TYPE_DATE":      "date",
	"SQL_DECIMAL":        "decimal",
	"SQL_DOUBLE":         "float",
	"SQL_FLOAT":          "float",
	"SQL_GUID":           "uniqueidentifier",
	"SQL_INTEGER":        "int",
	"SQL_LONGVARBINARY":  "image",
	"SQL_LONGVARCHAR":    "text",
	"SQL_NUMERIC":        "numeric",
	"SQL_REAL":           "real",
	"SQL_SMALLINT":       "smallint",
	"SQL_TIME":           "time",
	"SQL_TYPE_TIME":      "time",
	"SQL_TIMESTAMP":      "datetime",
	"SQL_TYPE_TIMESTAMP": "datetime",
	"SQL_TINYINT":        "tinyint",
	"SQL_VARBINARY":      "varbinary",
	"SQL_VARCHAR":        "varchar",
	"SQL_WCHAR":          "nchar",
	"SQL_WLONGVARCHAR":   "ntext",
	"SQL_WVARCHAR":       "nvarchar",
}

// odbcCall reads the call of {fn ...} and translates it to T-SQL.
func (p *parser) odbcCall(e syntax.At) syntax.Expr {
	t := p.current()
	name := t.Upper
	if t.Kind != scanner.Word || !p.peek(1).Is("(") {
		return p.odbcPlain(e)
	}
	ansi := name == "CONVERT" && odbcTypes[p.peek(p.matching(1)-2).Upper] != ""
	part, dated := odbcParts[name]
	switch {
	case name == "EXTRACT":
		p.skip(2)
		what := p.next()
		p.expect("FROM")
		x := p.expr()
		p.expect(")")
		return odbcFunc(e, "DATEPART", &syntax.Keyword{At: e, Name: what.Text}, x)
	case name == "POSITION":
		p.skip(2)
		x := p.expr()
		p.expect("IN")
		y := p.expr()
		p.expect(")")
		return odbcFunc(e, "CHARINDEX", x, y)
	case name == "TIMESTAMPADD", name == "TIMESTAMPDIFF":
		p.skip(2)
		interval := p.next()
		if odbcIntervals[interval.Upper] == "" {
			p.failAt(interval)
			return nil
		}
		p.expect(",")
		args := append([]syntax.Expr{&syntax.Keyword{At: e, Name: odbcIntervals[interval.Upper]}}, p.exprList()...)
		p.expect(")")
		return odbcFunc(e, map[string]string{"TIMESTAMPADD": "DATEADD", "TIMESTAMPDIFF": "DATEDIFF"}[name], args...)
	case ansi:
		p.skip(2)
		x := p.expr()
		p.expect(",")
		to := odbcTypes[p.next().Upper]
		p.expect(")")
		return odbcConvert(e, x, nil, to)
	case name == "CURDATE", name == "CURRENT_DATE":
		p.odbcArgs()
		return odbcConvert(e, odbcFunc(e, "GETDATE"), &syntax.Literal{At: e, Kind: syntax.IntLit, Text: "23"}, "varchar", 10)
	case name == "CURTIME", name == "CURRENT_TIME":
		p.odbcArgs()
		return odbcConvert(e, odbcConvert(e, odbcFunc(e, "GETDATE"), nil, "time", 3), nil, "varchar", 12)
	case name == "TRUNCATE":
		return odbcFunc(e, "ROUND", append(p.odbcArgs(), &syntax.Literal{At: e, Kind: syntax.IntLit, Text: "1"})...)
	case name == "MOD":
		if args := p.odbcArgs(); len(args) == 2 {
			return &syntax.ParenExpr{
				At: e,
				X: &syntax.BinaryExpr{
					At: e,
					Op: syntax.OpMod,
					X:  &syntax.ParenExpr{At: e, X: args[0]},
					Y:  &syntax.ParenExpr{At: e, X: args[1]},
				},
			}
		}
		p.fail()
		return nil
	case name == "BIT_LENGTH":
		eight := &syntax.Literal{At: e, Kind: syntax.IntLit, Text: "8"}
		return &syntax.ParenExpr{
			At: e,
			X:  &syntax.BinaryExpr{At: e, Op: syntax.OpMul, X: odbcFunc(e, "DATALENGTH", p.odbcArgs()...), Y: eight},
		}
	case dated:
		return odbcFunc(e, part[0], append([]syntax.Expr{&syntax.Keyword{At: e, Name: part[1]}}, p.odbcArgs()...)...)
	case odbcNames[name] != "":
		args := p.odbcArgs()
		if odbcNames[name] == "GETDATE" {
			args = nil // the argument of CURRENT_TIMESTAMP(3) is a precision
		}
		return odbcFunc(e, odbcNames[name], args...)
	}
	return p.odbcPlain(e)
}

// odbcPlain reads a call that has the same name in T-SQL.
func (p *parser) odbcPlain(e syntax.At) syntax.Expr {
	x := p.expr()
	call, ok := x.(*syntax.FuncCall)
	if !ok {
		return &syntax.ParenExpr{At: e, X: x} // {fn CONVERT(...)}, {fn LEFT(...)}
	}
	call.ODBC = true
	return call
}

// odbcArgs reads a name and its arguments in parentheses.
func (p *parser) odbcArgs() []syntax.Expr {
	p.next()
	p.expect("(")
	var args []syntax.Expr
	if !p.at(")") {
		args = p.exprList()
	}
	p.expect(")")
	return args
}

// odbcFunc returns the call of a built-in function.
func odbcFunc(e syntax.At, name string, args ...syntax.Expr) syntax.Expr {
	return &syntax.FuncCall{At: e, Name: &syntax.ObjectName{At: e, Parts: []syntax.Ident{{Name: name, At: e.Pos()}}}, Args: args}
}

// odbcConvert returns a CONVERT.
func odbcConvert(e syntax.At, x, style syntax.Expr, to string, length ...int) syntax.Expr {
	t := &syntax.TypeRef{At: e, Name: &syntax.ObjectName{At: e, Parts: []syntax.Ident{{Name: to, At: e.Pos()}}}, Args: length}
	return &syntax.ConvertExpr{At: e, Type: t, X: x, Style: style}
}

// outerJoinEscape reads {oj joins}, which is equivalent to the joins in parentheses.
func (p *parser) outerJoinEscape() syntax.TableSource {
	at := p.here()
	p.expect("{", "OJ")
	x := &syntax.ParenTable{At: at, X: p.tableSource()}
	p.expect("}")
	return x
}

// callEscape reads {[@r =] call p[(args)]}, which is equivalent to EXECUTE.
func (p *parser) callEscape() syntax.Stmt {
	p.expect("{")
	s := &syntax.ExecStmt{}
	if p.current().Kind == scanner.Variable {
		s.ReturnVar = p.variable()
		p.expect("=")
	}
	p.expect("CALL")
	s.Module = p.objectName()
	if p.accept("(") {
		if !p.at(")") {
			s.Args = p.execArgs()
		}
		p.expect(")")
	}
	p.expect("}")
	return s
}

// markDeclared is called at the name in a declaration. If the name begins with @@, it turns that
// name's tokens from here on into variables: an undeclared @@x is a system function.
func (p *parser) markDeclared() {
	t := p.current()
	if t.Kind != scanner.Global {
		return // the name of an ordinary variable, or already declared
	}
	if p.globals == nil {
		p.fillAll()
		p.globals = map[string][]int32{}
		for i := range p.tokens {
			if t := &p.tokens[i]; t.Kind == scanner.Global {
				p.globals[t.Upper] = append(p.globals[t.Upper], int32(i))
			}
		}
	}
	for _, i := range p.globals[t.Upper] {
		if int(i) >= p.pos {
			p.tokens[i].Kind = scanner.Variable
		}
	}
}

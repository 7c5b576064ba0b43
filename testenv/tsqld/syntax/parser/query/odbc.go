package query

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// ODBC reads ODBC's escape sequences {fn f(x)}, {d '...'}, {t '...'}, {ts '...'} and {guid '...'}.
func ODBC(c *tokens.Cursor) syntax.Expr {
	e := c.Here()
	c.Expect("{")
	kinds := map[string]syntax.LiteralKind{"D": syntax.DateLit, "T": syntax.TimeLit, "TS": syntax.TimestampLit, "GUID": syntax.GUIDLit}
	t := c.Next()
	if kind, ok := kinds[t.Upper]; ok && c.AtKind(scanner.String) {
		l := &syntax.Literal{At: e, Kind: kind, Text: c.Next().Text}
		c.Expect("}")
		return l
	}
	if t.Upper != "FN" {
		c.FailAt(t)
		return nil
	}
	x := odbcCall(c, e)
	c.Expect("}")
	return x
}

// pairs returns the map with the given keys and values, separated by commas.
func pairs(list string) map[string]string {
	m := map[string]string{}
	for pair := range strings.SplitSeq(list, ",") {
		words := strings.Fields(pair)
		m[words[0]] = words[1]
	}
	return m
}

// odbcNames maps ODBC's scalar functions to T-SQL functions with another name and the same
// arguments ("ODBC Scalar Functions (Transact-SQL)", ODBC's appendix E).
var odbcNames = pairs(`LCASE LOWER, UCASE UPPER, LENGTH LEN, CHAR_LENGTH LEN, CHARACTER_LENGTH LEN, OCTET_LENGTH DATALENGTH,
	LOCATE CHARINDEX, REPEAT REPLICATE, INSERT STUFF, ATAN2 ATN2, NOW GETDATE, CURRENT_TIMESTAMP GETDATE, DAYOFMONTH DAY,
	IFNULL ISNULL, DATABASE DB_NAME, USER USER_NAME`)

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
var odbcIntervals = pairs(`SQL_TSI_SECOND second, SQL_TSI_MINUTE minute, SQL_TSI_HOUR hour, SQL_TSI_DAY day, SQL_TSI_WEEK week,
	SQL_TSI_MONTH month, SQL_TSI_QUARTER quarter, SQL_TSI_YEAR year`)

// odbcTypes maps the types of ODBC's CONVERT to T-SQL types.
var odbcTypes = pairs(`SQL_BIGINT bigint, SQL_BINARY binary, SQL_BIT bit, SQL_CHAR char, SQL_DATE date, SQL_TYPE_DATE date,
	SQL_DECIMAL decimal, SQL_DOUBLE float, SQL_FLOAT float, SQL_GUID uniqueidentifier, SQL_INTEGER int,
	SQL_LONGVARBINARY image, SQL_LONGVARCHAR text, SQL_NUMERIC numeric, SQL_REAL real, SQL_SMALLINT smallint,
	SQL_TIME time, SQL_TYPE_TIME time, SQL_TIMESTAMP datetime, SQL_TYPE_TIMESTAMP datetime, SQL_TINYINT tinyint,
	SQL_VARBINARY varbinary, SQL_VARCHAR varchar, SQL_WCHAR nchar, SQL_WLONGVARCHAR ntext, SQL_WVARCHAR nvarchar`)

// odbcCall reads the call of {fn ...} and translates it to T-SQL.
func odbcCall(c *tokens.Cursor, e syntax.At) syntax.Expr {
	t := c.Current()
	name := t.Upper
	if t.Kind != scanner.Word || !c.Peek(1).Is("(") {
		return odbcPlain(c, e)
	}
	ansi := name == "CONVERT" && odbcTypes[c.Peek(c.Matching(1)-2).Upper] != ""
	part, dated := odbcParts[name]
	switch {
	case name == "EXTRACT":
		c.Skip(2)
		what := c.Next()
		c.Expect("FROM")
		x := Expr(c)
		c.Expect(")")
		return builtinCall(e, "DATEPART", &syntax.Keyword{At: e, Name: what.Text}, x)
	case name == "POSITION":
		c.Skip(2)
		x := Expr(c)
		c.Expect("IN")
		y := Expr(c)
		c.Expect(")")
		return builtinCall(e, "CHARINDEX", x, y)
	case name == "TIMESTAMPADD", name == "TIMESTAMPDIFF":
		c.Skip(2)
		interval := c.Next()
		if odbcIntervals[interval.Upper] == "" {
			c.FailAt(interval)
			return nil
		}
		c.Expect(",")
		args := append([]syntax.Expr{&syntax.Keyword{At: e, Name: odbcIntervals[interval.Upper]}}, Exprs(c)...)
		c.Expect(")")
		return builtinCall(e, map[string]string{"TIMESTAMPADD": "DATEADD", "TIMESTAMPDIFF": "DATEDIFF"}[name], args...)
	case ansi:
		c.Skip(2)
		x := Expr(c)
		c.Expect(",")
		to := odbcTypes[c.Next().Upper]
		c.Expect(")")
		return odbcConvert(e, x, nil, to)
	case name == "CURDATE", name == "CURRENT_DATE":
		odbcArgs(c)
		return odbcConvert(e, builtinCall(e, "GETDATE"), &syntax.Literal{At: e, Kind: syntax.IntLit, Text: "23"}, "varchar", 10)
	case name == "CURTIME", name == "CURRENT_TIME":
		odbcArgs(c)
		return odbcConvert(e, odbcConvert(e, builtinCall(e, "GETDATE"), nil, "time", 3), nil, "varchar", 12)
	case name == "TRUNCATE":
		return builtinCall(e, "ROUND", append(odbcArgs(c), &syntax.Literal{At: e, Kind: syntax.IntLit, Text: "1"})...)
	case name == "MOD":
		if args := odbcArgs(c); len(args) == 2 {
			x, y := &syntax.ParenExpr{At: e, X: args[0]}, &syntax.ParenExpr{At: e, X: args[1]}
			return &syntax.ParenExpr{At: e, X: &syntax.BinaryExpr{At: e, Op: syntax.OpMod, X: x, Y: y}}
		}
		c.Fail()
		return nil
	case name == "BIT_LENGTH":
		bytes, eight := builtinCall(e, "DATALENGTH", odbcArgs(c)...), &syntax.Literal{At: e, Kind: syntax.IntLit, Text: "8"}
		return &syntax.ParenExpr{At: e, X: &syntax.BinaryExpr{At: e, Op: syntax.OpMul, X: bytes, Y: eight}}
	case dated:
		return builtinCall(e, part[0], append([]syntax.Expr{&syntax.Keyword{At: e, Name: part[1]}}, odbcArgs(c)...)...)
	case odbcNames[name] != "":
		args := odbcArgs(c)
		if odbcNames[name] == "GETDATE" {
			args = nil // the argument of CURRENT_TIMESTAMP(3) is a precision
		}
		return builtinCall(e, odbcNames[name], args...)
	}
	return odbcPlain(c, e)
}

// odbcPlain reads a call that has the same name in T-SQL.
func odbcPlain(c *tokens.Cursor, e syntax.At) syntax.Expr {
	x := Expr(c)
	call, ok := x.(*syntax.FuncCall)
	if !ok {
		return &syntax.ParenExpr{At: e, X: x} // {fn CONVERT(...)}, {fn LEFT(...)}
	}
	call.ODBC = true
	return call
}

// odbcArgs reads a name and its arguments in parentheses.
func odbcArgs(c *tokens.Cursor) []syntax.Expr {
	c.Next()
	return Args(c)
}

// odbcConvert returns a CONVERT.
func odbcConvert(e syntax.At, x, style syntax.Expr, to string, length ...int) syntax.Expr {
	t := &syntax.TypeRef{At: e, Name: term.Builtin(e, to), Args: length}
	return &syntax.ConvertExpr{At: e, Type: t, X: x, Style: style}
}

// outerJoinEscape reads {oj joins}, which is equivalent to the joins in parentheses.
func outerJoinEscape(c *tokens.Cursor) syntax.TableSource {
	x := &syntax.ParenTable{At: c.Here()}
	c.Expect("{", "OJ")
	x.X = TableSource(c)
	c.Expect("}")
	return x
}

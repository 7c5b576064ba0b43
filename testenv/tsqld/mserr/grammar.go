package mserr

import "strings"

// Errors in the text of a batch, mostly of severity 15.

// Syntax is error 102: token is unexpected.
func Syntax(token string) *Error { return New(102, 15, "Incorrect syntax near '%s'.", token) }

// SyntaxKeyword is error 156, 102 where the token is a reserved keyword.
func SyntaxKeyword(keyword string) *Error {
	return New(156, 15, "Incorrect syntax near the keyword '%s'.", keyword)
}

// SyntaxWith is error 319: WITH follows a statement that is not terminated.
func SyntaxWith() *Error {
	return New(319, 15, "Incorrect syntax near the keyword 'with'. If this statement is a common "+
		"table expression, an xmlnamespaces clause or a change tracking context clause, the previous "+
		"statement must be terminated with a semicolon.")
}

// TooManyTables is error 106; most is the maximum number of tables of a query.
func TooManyTables(most int) *Error {
	return New(106, 16, "Too many table names in the query. The maximum allowable is %d.", most)
}

// UnclosedQuote is error 105; text is the text after the quotation mark.
func UnclosedQuote(text string) *Error {
	return New(105, 15, "Unclosed quotation mark after the character string '%s'.", text)
}

// UnclosedComment is error 113.
func UnclosedComment() *Error { return New(113, 15, "Missing end comment mark '*/'.") }

// IdentifierTooLong is error 103; start is the beginning of the identifier.
func IdentifierTooLong(start string, maximum int) *Error {
	return New(103, 15, "The identifier that starts with '%s' is too long. Maximum length is %d.", start, maximum)
}

// OrderByNotInSetList is error 104: ORDER BY of a set operation names a column that is not in its
// select list.
func OrderByNotInSetList() *Error {
	return New(104, 15, "ORDER BY items must appear in the select list if the statement contains a "+
		"UNION, INTERSECT or EXCEPT operator.")
}

// TooManyGroupingSets is error 10703; most is the maximum number.
func TooManyGroupingSets(most int) *Error {
	return New(10703, 15, "Too many grouping sets. The maximum number is %d.", most)
}

// TooManyGroupingExpressions is error 10706; most is the maximum number.
func TooManyGroupingExpressions(most int) *Error {
	return New(10706, 15, "Too many expressions are specified in the GROUP BY clause. The maximum number is %d when "+
		"grouping sets are supplied.", most)
}

// TooManyElements is error 1056; most is the maximum number of columns of a select list.
func TooManyElements(most int) *Error {
	return New(1056, 15, "The number of elements in the select list exceeds the maximum allowed "+
		"number of %d elements.", most)
}

// OrderByPosition is error 108: an ordinal in ORDER BY outside the select list.
func OrderByPosition(n int64) *Error {
	return New(108, 16, "The ORDER BY position number %d is out of range of the number of items in the select list.", n)
}

// MoreInsertColumns is error 109: INSERT names more columns than VALUES has values.
func MoreInsertColumns() *Error {
	return New(109, 15, "There are more columns in the INSERT statement than values specified in the "+
		"VALUES clause. The number of values in the VALUES clause must match the number of columns "+
		"specified in the INSERT statement.")
}

// FewerInsertColumns is error 110: INSERT names fewer columns than VALUES has values.
func FewerInsertColumns() *Error {
	return New(110, 15, "There are fewer columns in the INSERT statement than values specified in "+
		"the VALUES clause. The number of values in the VALUES clause must match the number of "+
		"columns specified in the INSERT statement.")
}

// NotFirstInBatch is error 111; statement is its name in capitals, such as "CREATE PROCEDURE".
func NotFirstInBatch(statement string) *Error {
	e := New(111, 15, "'%s' must be the first statement in a query batch.", statement)
	if statement == "CREATE TRIGGER" {
		return e.WithState(6)
	}
	return e
}

// SubqueryColumns is error 116: a scalar subquery with several columns.
func SubqueryColumns() *Error {
	return New(116, 16, "Only one expression can be specified in the select list when the subquery "+
		"is not introduced with EXISTS.")
}

// TooManyNameParts is error 117; kind is "object", "column" and the like.
func TooManyNameParts(kind, name string, maximum int) *Error {
	return New(117, 15, "The %s name '%s' contains more than the maximum number of prefixes. The "+
		"maximum is %d.", kind, name, maximum)
}

// NamedThenPositional is error 119: an unnamed argument after a named one; n counts arguments from
// 1.
func NamedThenPositional(n int) *Error {
	return New(119, 15, "Must pass parameter number %d and subsequent parameters as '@name = value'. "+
		"After the form '@name = value' has been used, all subsequent parameters must be passed in "+
		"the form '@name = value'.", n)
}

// SelectFewerThanInsert is error 120.
func SelectFewerThanInsert() *Error {
	return New(120, 15, "The select list for the INSERT statement contains fewer items than the "+
		"insert list. The number of SELECT values must match the number of INSERT columns.")
}

// SelectMoreThanInsert is error 121.
func SelectMoreThanInsert() *Error {
	return New(121, 15, "The select list for the INSERT statement contains more items than the "+
		"insert list. The number of SELECT values must match the number of INSERT columns.")
}

// NotAllowedHere is error 128: a column where only constants and variables are allowed.
func NotAllowedHere(name string) *Error {
	return New(128, 15, "The name \"%s\" is not permitted in this context. Valid expressions are "+
		"constants, constant expressions, and (in some contexts) variables. Column names are not "+
		"permitted.", name)
}

// AggregateInAggregate is error 130.
func AggregateInAggregate() *Error {
	return New(130, 15, "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.")
}

// SizeExceedsMaximum is error 131.
func SizeExceedsMaximum(size int, name string, maximum int) *Error {
	return New(131, 15, "The size (%d) given to the type '%s' exceeds the maximum allowed for any data type (%d).",
		size, name, maximum).WithState(3)
}

// DuplicateLabel is error 132.
func DuplicateLabel(label string) *Error {
	return New(132, 15, "The label '%s' has already been declared. Label names must be unique within "+
		"a query batch or stored procedure.", label)
}

// UnknownLabel is error 133.
func UnknownLabel(label string) *Error {
	return New(133, 15, "A GOTO statement references the label '%s' but the label has not been declared.", label)
}

// DuplicateVariable is error 134; name includes the @.
func DuplicateVariable(name string) *Error {
	return New(134, 15, "The variable name '%s' has already been declared. Variable names must be "+
		"unique within a query batch or stored procedure.", name)
}

// BreakOutsideWhile is error 135.
func BreakOutsideWhile() *Error {
	return New(135, 15, "Cannot use a BREAK statement outside the scope of a WHILE statement.")
}

// ContinueOutsideWhile is error 136.
func ContinueOutsideWhile() *Error {
	return New(136, 15, "Cannot use a CONTINUE statement outside the scope of a WHILE statement.")
}

// UndeclaredVariable is error 137 for a variable that gets a value; name includes the @.
func UndeclaredVariable(name string) *Error {
	return New(137, 15, "Must declare the scalar variable \"%s\".", name)
}

// UndeclaredOperand is error 137 for a variable in an expression; name includes the @.
func UndeclaredOperand(name string) *Error { return UndeclaredVariable(name).WithState(2) }

// UndeclaredTableVariable is error 1087; name includes the @.
func UndeclaredTableVariable(name string) *Error {
	return New(1087, 15, "Must declare the table variable \"%s\".", name).WithState(2)
}

// AssignAndRetrieve is error 141.
func AssignAndRetrieve() *Error {
	return New(141, 15, "A SELECT statement that assigns a value to a variable must not be combined "+
		"with data-retrieval operations.")
}

// AggregateInGroupBy is error 144.
func AggregateInGroupBy() *Error {
	return New(144, 15, "Cannot use an aggregate or a subquery in an expression used for the group "+
		"by list of a GROUP BY clause.")
}

// OrderByDistinct is error 145.
func OrderByDistinct() *Error {
	return New(145, 15, "ORDER BY items must appear in the select list if SELECT DISTINCT is specified.")
}

// AggregateInWhere is error 147.
func AggregateInWhere() *Error {
	return New(147, 15, "An aggregate may not appear in the WHERE clause unless it is in a subquery "+
		"contained in a HAVING clause or a select list, and the column being aggregated is an outer "+
		"reference.")
}

// AggregateInApply is error 4101.
func AggregateInApply() *Error {
	return New(4101, 15, "Aggregates on the right side of an APPLY cannot reference columns from the left side.")
}

// BadWaitForTime is error 148.
func BadWaitForTime(text string) *Error {
	return New(148, 15, "Incorrect time syntax in time string '%s' used with WAITFOR.", text)
}

// WaitForType is error 9815; name is the type of a variable of WAITFOR.
func WaitForType(name string) *Error {
	return New(9815, 16, "Waitfor delay and waitfor time cannot be of type %s.", name).WithState(0)
}

// UnknownOption is error 155; kind names the family: "SET", "CURSOR", "datepart"...
func UnknownOption(option, kind string) *Error {
	return New(155, 15, "'%s' is not a recognized %s option.", option, kind)
}

// AggregateInSet is error 157.
func AggregateInSet() *Error {
	return New(157, 15, "An aggregate may not appear in the set list of an UPDATE statement.")
}

// AggregateInOutput is error 158.
func AggregateInOutput() *Error {
	return New(158, 15, "An aggregate may not appear in the OUTPUT clause.")
}

// GroupByConstant is error 164.
func GroupByConstant() *Error {
	return New(164, 15, "Each GROUP BY expression must contain at least one column that is not an outer reference.")
}

// DatabaseNotAllowed is error 166: a statement whose object may not have a database prefix. The
// statements that create modules are named with ALTER.
func DatabaseNotAllowed(statement string) *Error {
	switch verb, kind, _ := strings.Cut(statement, " "); kind {
	case "VIEW", "FUNCTION", "PROCEDURE", "TRIGGER":
		if verb != "DROP" {
			statement = "CREATE/ALTER " + kind
		}
	}
	return New(166, 15, "'%s' does not allow specifying the database name as a prefix to the object name.", statement)
}

// DuplicateOrderBy is error 169.
func DuplicateOrderBy() *Error {
	return New(169, 15, "A column has been specified more than once in the order by list. Columns in "+
		"the order by list must be unique.")
}

// ArgumentCount is error 174: function requires exactly n arguments.
func ArgumentCount(function string, n int) *Error {
	return New(174, 15, "The %s function requires %d argument(s).", function, n)
}

// ReturnWithValue is error 178.
func ReturnWithValue() *Error {
	return New(178, 15, "A RETURN statement with a return value cannot be used in this context.")
}

// OutputOfConstant is error 179.
func OutputOfConstant() *Error {
	return New(179, 15, "Cannot use the OUTPUT option when passing a constant to a stored procedure.")
}

// OutputNotDeclared is error 181.
func OutputNotDeclared() *Error {
	return New(181, 15, "Cannot use the OUTPUT option in a DECLARE, CREATE AGGREGATE or CREATE FUNCTION statement.")
}

// ArgumentRange is error 189: function requires minimum to maximum arguments.
func ArgumentRange(function string, minimum, maximum int) *Error {
	return New(189, 15, "The %s function requires %d to %d arguments.", function, minimum, maximum)
}

// NestedTooDeeply is error 191: the limit of the parser's recursion.
func NestedTooDeeply() *Error {
	return New(191, 15, "Some part of your SQL statement is nested too deeply. Rewrite the query or "+
		"break it up into smaller queries.")
}

// UnknownTableHint is error 321.
func UnknownTableHint(name string) *Error {
	return New(321, 15, "\"%s\" is not a recognized table hints option.", name)
}

// UnlockedTarget is error 1065.
func UnlockedTarget() *Error {
	return New(1065, 15, "The NOLOCK and READUNCOMMITTED lock hints are not allowed for target tables of INSERT, "+
		"UPDATE, DELETE or MERGE statements.")
}

// NotRecognized is error 195; kind is "built-in function name", "function name" and the like.
func NotRecognized(name, kind string) *Error {
	return New(195, 15, "'%s' is not a recognized %s.", name, kind)
}

// InsertAssigns is error 199.
func InsertAssigns() *Error {
	return New(199, 15, "An INSERT statement cannot contain a SELECT statement that assigns values to a variable.")
}

// SetOperationCount is error 205.
func SetOperationCount() *Error {
	return New(205, 16, "All queries combined using a UNION, INTERSECT or EXCEPT operator must have "+
		"an equal number of expressions in their target lists.")
}

// InvalidLength is error 1001: a length or precision of a type below 1.
func InvalidLength(n int) *Error {
	return New(1001, 15, "Line 1: Length or precision specification %d is invalid.", n)
}

// InvalidScale is error 1002.
func InvalidScale(n int) *Error { return New(1002, 15, "Line 1: Specified scale %d is invalid.", n) }

// NumberOutOfRange is error 1007: a decimal literal of more than 38 digits.
func NumberOutOfRange(text string) *Error {
	return New(1007, 15, "The number '%s' is out of the range for numeric representation (maximum precision 38).", text)
}

// DuplicateCorrelation is error 1011.
func DuplicateCorrelation(name string) *Error {
	return New(1011, 16, "The correlation name '%s' is specified multiple times in a FROM clause.", name)
}

// SameExposedNames is error 1013.
func SameExposedNames(a, b string) *Error {
	return New(1013, 16, "The objects \"%s\" and \"%s\" in the FROM clause have the same exposed "+
		"names. Use correlation names to distinguish them.", a, b)
}

// InvalidTopValue is error 1014.
func InvalidTopValue() *Error {
	return New(1014, 15, "A TOP or FETCH clause contains an invalid value.")
}

// AggregateInOn is error 1015.
func AggregateInOn() *Error {
	return New(1015, 15, "An aggregate cannot appear in an ON clause unless it is in a subquery "+
		"contained in a HAVING clause or select list, and the column being aggregated is an outer "+
		"reference.")
}

// InvalidParameter is error 1023: a keyword argument (a datepart) that the function does not know;
// n counts from 1.
func InvalidParameter(n int, function string) *Error {
	return New(1023, 15, "Invalid parameter %d specified for %s.", n, function)
}

// OrderByWithoutTop is error 1033.
func OrderByWithoutTop() *Error {
	return New(1033, 15, "The ORDER BY clause is invalid in views, inline functions, derived tables, "+
		"subqueries, and common table expressions, unless TOP, OFFSET or FOR XML is also specified.")
}

// MissingName is error 1038.
func MissingName() *Error {
	return New(1038, 15, "An object or column name is missing or empty. For SELECT INTO statements, "+
		"verify each column has a name. For other statements, look for empty alias names. Aliases "+
		"defined as \"\" or [] are not allowed. Change the alias to a valid name.")
}

// SubqueryNotAllowed is error 1046.
func SubqueryNotAllowed() *Error {
	return New(1046, 15, "Subqueries are not allowed in this context. Only scalar expressions are allowed.")
}

// TopNotInteger is error 1060.
func TopNotInteger() *Error {
	return New(1060, 15, "The number of rows provided for a TOP or FETCH clauses row count parameter must be an integer.")
}

// NonBoolean is error 4145; token is what follows the expression.
func NonBoolean(token string) *Error {
	return New(4145, 15, "An expression of non-boolean type specified in a context where a condition "+
		"is expected, near '%s'.", token)
}

// ThrowOutsideCatch is error 10704.
func ThrowOutsideCatch() *Error {
	return New(10704, 15, "To rethrow an error, a THROW statement must be used inside a CATCH block. "+
		"Insert the THROW statement inside a CATCH block, or add error parameters to the THROW "+
		"statement.")
}

// RowConstructorCount is error 10709.
func RowConstructorCount() *Error {
	return New(10709, 16, "The number of columns for each row in a table value constructor must be the same.")
}

// MergeSemicolon is error 10713.
func MergeSemicolon() *Error {
	return New(10713, 15, "A MERGE statement must be terminated by a semi-colon (;).")
}

// ConditionAfterMergeClause is error 5324; clause is such as WHEN MATCHED.
func ConditionAfterMergeClause(clause string) *Error {
	return New(5324, 15, "In a MERGE statement, a '%s' clause with a search condition cannot appear after a '%s' "+
		"clause with no search condition.", clause, clause)
}

// RepeatedMergeAction is error 10714. SQL Server's text has the clause, such as WHEN MATCHED, where
// it says action, and the action, such as UPDATE, where it says clause.
func RepeatedMergeAction(clause, action string) *Error {
	return New(10714, 15, "An action of type '%s' cannot appear more than once in a '%s' clause of a MERGE statement.",
		clause, action)
}

// TooManyRowValues is error 10738.
func TooManyRowValues(maximum int) *Error {
	return New(10738, 15, "The number of row value expressions in the INSERT statement exceeds the "+
		"maximum allowed number of %d row values.", maximum)
}

// NegativeOffset is error 10742.
func NegativeOffset() *Error {
	return New(10742, 15, "The offset specified in a OFFSET clause may not be negative.")
}

// NonPositiveFetch is error 10744.
func NonPositiveFetch() *Error {
	return New(10744, 15, "The number of rows provided for a FETCH clause must be greater then zero.")
}

// OverRequired is error 10753: a window function without OVER.
func OverRequired(function string) *Error {
	return New(10753, 15, "The function '%s' must have an OVER clause.", function)
}

// OverOrderRequired is error 4112: a window function whose OVER lacks ORDER BY.
func OverOrderRequired(function string) *Error {
	return New(4112, 15, "The function '%s' must have an OVER clause with ORDER BY.", function)
}

// SeparatorNotConstant is error 8733.
func SeparatorNotConstant() *Error {
	return New(8733, 16, "Separator parameter for STRING_AGG must be a string literal or variable.")
}

// NotWindowFunction is error 4113: OVER after a function that does not accept it.
func NotWindowFunction(function string) *Error {
	return New(4113, 15, "The function '%s' is not a valid windowing function, and cannot be used "+
		"with the OVER clause.", function)
}

// WindowPlace is error 4108.
func WindowPlace() *Error {
	return New(4108, 15, "Windowed functions can only appear in the SELECT or ORDER BY clauses.")
}

// WindowInWindow is error 4109.
func WindowInWindow() *Error {
	return New(4109, 15, "Windowed functions cannot be used in the context of another windowed function or aggregate.")
}

// OffsetWithTop is error 10741.
func OffsetWithTop() *Error {
	return New(10741, 15, "A TOP can not be used in the same query or sub-query as a OFFSET.").WithState(2)
}

// NegativeTop is error 127.
func NegativeTop() *Error {
	return New(127, 15, "A TOP N or FETCH rowcount value may not be negative.")
}

// SelectIntoAssigns is error 194.
func SelectIntoAssigns() *Error {
	return New(194, 15, "A SELECT INTO statement cannot contain a SELECT statement that assigns values to a variable.")
}

// SelectIntoPlace is error 196.
func SelectIntoPlace() *Error {
	return New(196, 15, "SELECT INTO must be the first query in a statement containing a UNION, "+
		"INTERSECT or EXCEPT operator.")
}

// DuplicateCTE is error 239.
func DuplicateCTE(name string) *Error {
	return New(239, 16, "Duplicate common table expression name '%s' was specified.", name)
}

// NoAnchor is error 246.
func NoAnchor(query string) *Error {
	return New(246, 16, "No anchor member was specified for recursive query \"%s\".", query)
}

// RecursiveUnionAll is error 252.
func RecursiveUnionAll(query string) *Error {
	return New(252, 16, "Recursive common table expression '%s' does not contain a top-level UNION ALL operator.", query)
}

// RecursiveTwice is error 253.
func RecursiveTwice(query string) *Error {
	return New(253, 16, "Recursive member of a common table expression '%s' has multiple recursive references.", query)
}

// RecursiveDistinct is error 460.
func RecursiveDistinct(query string) *Error {
	return New(460, 16, "DISTINCT operator is not allowed in the recursive part of a recursive "+
		"common table expression '%s'.", query)
}

// RecursiveTop is error 461.
func RecursiveTop(query string) *Error {
	return New(461, 16, "The TOP or OFFSET operator is not allowed in the recursive part of a "+
		"recursive common table expression '%s'.", query)
}

// RecursiveOuterJoin is error 462.
func RecursiveOuterJoin(query string) *Error {
	return New(462, 16, "Outer join is not allowed in the recursive part of a recursive common table "+
		"expression '%s'.", query)
}

// RecursiveGroupBy is error 467.
func RecursiveGroupBy(query string) *Error {
	return New(467, 16, "GROUP BY, HAVING, or aggregate functions are not allowed in the recursive "+
		"part of a recursive common table expression '%s'.", query)
}

// NotAFunction is error 215: arguments after the name of a table.
func NotAFunction(name string) *Error {
	return New(215, 16, "Parameters supplied for object '%s' which is not a function. If the "+
		"parameters are intended as a table hint, a WITH keyword is required.", name)
}

// NoFunctionArguments is error 216: a table-valued function without parentheses.
func NoFunctionArguments(name string) *Error {
	return New(216, 16, "Parameters were not supplied for the function '%s'.", name)
}

// SelectInFunction is error 444.
func SelectInFunction() *Error {
	return New(444, 16, "Select statements included within a function cannot return data to a client.")
}

// FunctionWithoutReturn is error 455.
func FunctionWithoutReturn() *Error {
	return New(455, 16, "The last statement included within a function must be a return statement.")
}

// OutputInInsertExec is error 483.
func OutputInInsertExec() *Error {
	return New(483, 16, "The OUTPUT clause cannot be used in an INSERT...EXEC statement.")
}

// InvalidRowCount is error 507.
func InvalidRowCount() *Error {
	return New(507, 16, "Invalid argument for SET ROWCOUNT. Must be a non-null non-negative integer.")
}

// ShowPlanNotAlone is error 1067.
func ShowPlanNotAlone() *Error {
	return New(1067, 15, "The SET SHOWPLAN statements must be the only statements in the batch.")
}

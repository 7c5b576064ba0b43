package mserr

import "strings"

// Errors in the text of a batch, mostly of severity 15.
var (
	// Syntax: token is unexpected.
	Syntax = of[func(token string) *Error](102)
	// SyntaxKeyword: 102 where the token is a reserved keyword.
	SyntaxKeyword = of[func(keyword string) *Error](156)
	// SyntaxWith: WITH follows a statement that is not terminated.
	SyntaxWith = of[func() *Error](319)
	// TooManyTables: most is the maximum number of tables of a query.
	TooManyTables = of[func(most int) *Error](106)
	// UnclosedQuote: text is the text after the quotation mark.
	UnclosedQuote   = of[func(text string) *Error](105)
	UnclosedComment = of[func() *Error](113)
	// IdentifierTooLong: start is the beginning of the identifier.
	IdentifierTooLong = of[func(start string, maximum int) *Error](103)
	// OrderByNotInSetList: ORDER BY of a set operation names a column that is not in its select
	// list.
	OrderByNotInSetList = of[func() *Error](104)
	// TooManyGroupingSets: most is the maximum number.
	TooManyGroupingSets = of[func(most int) *Error](10703)
	// TooManyGroupingExpressions: most is the maximum number.
	TooManyGroupingExpressions = of[func(most int) *Error](10706)
	// TooManyElements: most is the maximum number of columns of a select list.
	TooManyElements = of[func(most int) *Error](1056)
	// OrderByPosition: an ordinal in ORDER BY outside the select list.
	OrderByPosition = of[func(n int64) *Error](108)
	// MoreInsertColumns: INSERT names more columns than VALUES has values.
	MoreInsertColumns = of[func() *Error](109)
	// FewerInsertColumns: INSERT names fewer columns than VALUES has values.
	FewerInsertColumns = of[func() *Error](110)
	// SubqueryColumns: a scalar subquery with several columns.
	SubqueryColumns = of[func() *Error](116)
	// TooManyNameParts: kind is "object", "column" and the like.
	TooManyNameParts = of[func(kind, name string, maximum int) *Error](117)
	// NamedThenPositional: an unnamed argument after a named one; n counts arguments from 1.
	NamedThenPositional   = of[func(n int) *Error](119)
	SelectFewerThanInsert = of[func() *Error](120)
	SelectMoreThanInsert  = of[func() *Error](121)
	// NotAllowedHere: a column where only constants and variables are allowed.
	NotAllowedHere       = of[func(name string) *Error](128)
	AggregateInAggregate = of[func() *Error](130)
	SizeExceedsMaximum   = of[func(size int, name string, maximum int) *Error](131)
	DuplicateLabel       = of[func(label string) *Error](132)
	UnknownLabel         = of[func(label string) *Error](133)
	// DuplicateVariable: name includes the @.
	DuplicateVariable    = of[func(name string) *Error](134)
	BreakOutsideWhile    = of[func() *Error](135)
	ContinueOutsideWhile = of[func() *Error](136)
	// UndeclaredVariable: for a variable that gets a value; name includes the @.
	UndeclaredVariable = of[func(name string) *Error](137)
	// UndeclaredTableVariable: name includes the @.
	UndeclaredTableVariable = of[func(name string) *Error](1087)
	AssignAndRetrieve       = of[func() *Error](141)
	AggregateInGroupBy      = of[func() *Error](144)
	OrderByDistinct         = of[func() *Error](145)
	AggregateInWhere        = of[func() *Error](147)
	AggregateInApply        = of[func() *Error](4101)
	BadWaitForTime          = of[func(text string) *Error](148)
	// WaitForType: name is the type of a variable of WAITFOR.
	WaitForType = of[func(name string) *Error](9815)
	// UnknownOption: kind names the family: "SET", "CURSOR", "datepart"...
	UnknownOption     = of[func(option, kind string) *Error](155)
	AggregateInSet    = of[func() *Error](157)
	AggregateInOutput = of[func() *Error](158)
	GroupByConstant   = of[func() *Error](164)
	DuplicateOrderBy  = of[func() *Error](169)
	// ArgumentCount: function requires exactly n arguments.
	ArgumentCount     = of[func(function string, n int) *Error](174)
	ReturnWithValue   = of[func() *Error](178)
	OutputOfConstant  = of[func() *Error](179)
	OutputNotDeclared = of[func() *Error](181)
	// ArgumentRange: function requires minimum to maximum arguments.
	ArgumentRange = of[func(function string, minimum, maximum int) *Error](189)
	// NestedTooDeeply: the limit of the parser's recursion.
	NestedTooDeeply  = of[func() *Error](191)
	UnknownTableHint = of[func(name string) *Error](321)
	UnlockedTarget   = of[func() *Error](1065)
	// NotRecognized: kind is "built-in function name", "function name" and the like.
	NotRecognized     = of[func(name, kind string) *Error](195)
	InsertAssigns     = of[func() *Error](199)
	SetOperationCount = of[func() *Error](205)
	// InvalidLength: a length or precision of a type below 1.
	InvalidLength = of[func(n int) *Error](1001)
	InvalidScale  = of[func(n int) *Error](1002)
	// NumberOutOfRange: a decimal literal of more than 38 digits.
	NumberOutOfRange     = of[func(text string) *Error](1007)
	DuplicateCorrelation = of[func(name string) *Error](1011)
	SameExposedNames     = of[func(a, b string) *Error](1013)
	InvalidTopValue      = of[func() *Error](1014)
	AggregateInOn        = of[func() *Error](1015)
	// InvalidParameter: a keyword argument (a datepart) that the function does not know; n
	// counts from 1.
	InvalidParameter   = of[func(n int, function string) *Error](1023)
	OrderByWithoutTop  = of[func() *Error](1033)
	MissingName        = of[func() *Error](1038)
	SubqueryNotAllowed = of[func() *Error](1046)
	TopNotInteger      = of[func() *Error](1060)
	// NonBoolean: token is what follows the expression.
	NonBoolean          = of[func(token string) *Error](4145)
	ThrowOutsideCatch   = of[func() *Error](10704)
	RowConstructorCount = of[func() *Error](10709)
	MergeSemicolon      = of[func() *Error](10713)
	// RepeatedMergeAction: SQL Server's text has the clause, such as WHEN MATCHED, where it says
	// action, and the action, such as UPDATE, where it says clause.
	RepeatedMergeAction = of[func(clause, action string) *Error](10714)
	TooManyRowValues    = of[func(maximum int) *Error](10738)
	NegativeOffset      = of[func() *Error](10742)
	NonPositiveFetch    = of[func() *Error](10744)
	// OverRequired: a window function without OVER.
	OverRequired = of[func(function string) *Error](10753)
	// OverOrderRequired: a window function whose OVER lacks ORDER BY.
	OverOrderRequired    = of[func(function string) *Error](4112)
	SeparatorNotConstant = of[func() *Error](8733)
	// NotWindowFunction: OVER after a function that does not accept it.
	NotWindowFunction  = of[func(function string) *Error](4113)
	WindowPlace        = of[func() *Error](4108)
	WindowInWindow     = of[func() *Error](4109)
	OffsetWithTop      = of[func() *Error](10741)
	NegativeTop        = of[func() *Error](127)
	SelectIntoAssigns  = of[func() *Error](194)
	SelectIntoPlace    = of[func() *Error](196)
	DuplicateCTE       = of[func(name string) *Error](239)
	NoAnchor           = of[func(query string) *Error](246)
	RecursiveUnionAll  = of[func(query string) *Error](252)
	RecursiveTwice     = of[func(query string) *Error](253)
	RecursiveDistinct  = of[func(query string) *Error](460)
	RecursiveTop       = of[func(query string) *Error](461)
	RecursiveOuterJoin = of[func(query string) *Error](462)
	RecursiveGroupBy   = of[func(query string) *Error](467)
	// NotAFunction: arguments after the name of a table.
	NotAFunction = of[func(name string) *Error](215)
	// NoFunctionArguments: a table-valued function without parentheses.
	NoFunctionArguments   = of[func(name string) *Error](216)
	SelectInFunction      = of[func() *Error](444)
	FunctionWithoutReturn = of[func() *Error](455)
	OutputInInsertExec    = of[func() *Error](483)
	InvalidRowCount       = of[func() *Error](507)
	ShowPlanNotAlone      = of[func() *Error](1067)
)

// NotFirstInBatch is error 111; statement is its name in capitals, such as "CREATE PROCEDURE".
func NotFirstInBatch(statement string) *Error {
	return Of(111, statement).stateIf(statement == "CREATE TRIGGER", 6)
}

// UndeclaredOperand is error 137 for a variable in an expression; name includes the @.
func UndeclaredOperand(name string) *Error { return UndeclaredVariable(name).WithState(2) }

// DatabaseNotAllowed is error 166: a statement whose object may not have a database prefix. The
// statements that create modules are named with ALTER.
func DatabaseNotAllowed(statement string) *Error {
	switch verb, kind, _ := strings.Cut(statement, " "); kind {
	case "VIEW", "FUNCTION", "PROCEDURE", "TRIGGER":
		if verb != "DROP" {
			statement = "CREATE/ALTER " + kind
		}
	}
	return Of(166, statement)
}

// ConditionAfterMergeClause is error 5324; clause is such as WHEN MATCHED.
func ConditionAfterMergeClause(clause string) *Error { return Of(5324, clause, clause) }

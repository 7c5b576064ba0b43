package mserr

import "fmt"

// XQueryProblem is an error in the XQuery text of an xml method: its number and the text after the
// name of the method.
type XQueryProblem struct {
	Number int32
	Text   string // a format of package fmt
}

// In returns the error of an XQuery text. method is the method that carries the text, for a column
// after the column's name: "dbo.t.x.value()".
func (p XQueryProblem) In(method string, args ...any) *Error {
	return New(p.Number, 16, "XQuery [%s]: %s", method, fmt.Sprintf(p.Text, args...))
}

// The problems of XQuery texts ("Database engine events and errors", 2000 to 2999 and 9000 to
// 9999).
var (
	XQueryPredicate          = XQueryProblem{2203, "Only 'http://www.w3.org/2001/XMLSchema#decimal?', 'http://www.w3.org/2001/XMLSchema#boolean?' or 'node()*' expressions allowed as predicates, found '%s'"}
	XQueryCondition          = XQueryProblem{2204, "Only 'http://www.w3.org/2001/XMLSchema#boolean?' or 'node()*' expressions allowed in conditions and with logical operators, found '%s'"}
	XQueryExpected           = XQueryProblem{2205, "\"%s\" was expected."}
	XQueryInserted           = XQueryProblem{2207, "Only non-document nodes can be inserted. Found \"%s\"."}
	XQuerySyntax             = XQueryProblem{2209, "Syntax error near '%s'"}
	XQueryMixed              = XQueryProblem{2210, "Heterogeneous sequences are not allowed: found '%s' and '%s'"}
	XQueryString             = XQueryProblem{2225, "A string literal was expected"}
	XQueryInsertTarget       = XQueryProblem{2226, "The target of 'insert' must be a single node, found '%s'"}
	XQueryVariable           = XQueryProblem{2227, "The variable '%s' was not found in the scope in which it was referenced."}
	XQueryPrefix             = XQueryProblem{2229, "The name \"%s\" does not denote a namespace."}
	XQueryType               = XQueryProblem{2232, "The name \"%s:%s\" does not denote a defined type."}
	XQueryOperands           = XQueryProblem{2234, "The operator \"%s\" cannot be applied to \"%s\" and \"%s\" operands."}
	XQueryFewArguments       = XQueryProblem{2236, "There are not enough actual arguments in the call to function \"%s\"."}
	XQueryManyArguments      = XQueryProblem{2238, "Too many arguments in call to function '%s'"}
	XQueryInsertInto         = XQueryProblem{2240, "The target of 'insert into' must be an element/document node, found '%s'"}
	XQueryInsertWhere        = XQueryProblem{2248, "Syntax error near '%s', expected 'as', 'into', 'before' or 'after'."}
	XQueryInsertBeside       = XQueryProblem{2249, "The target of 'insert before/after' must be an element/PI/comment/text node, found '%s'"}
	XQueryInsertAttribute    = XQueryProblem{2258, "The position may not be specified when inserting an attribute node, found '%s'"}
	XQueryDeleted            = XQueryProblem{2264, "Only non-document nodes may be deleted, found '%s'"}
	XQueryEndTag             = XQueryProblem{2323, "The end tag '%s' doesn't match opening tag '%s' from line %d"}
	XQueryDuplicateAttribute = XQueryProblem{2271, "Duplicate attribute '%s'"}
	XQueryEntity             = XQueryProblem{2282, "Invalid entity reference"}
	XQueryUnterminated       = XQueryProblem{2274, "Unterminated string constant (started on line %d)"}
	XQueryCharacter          = XQueryProblem{2333, "Invalid source character 0x%02x"}
	XQueryTargetXML          = XQueryProblem{2294, "'xml' is not allowed as a processing instruction target."}
	XQueryReplaceTarget      = XQueryProblem{2337, "The target of 'replace' must be at most one node, found '%s'"}
	XQueryComment            = XQueryProblem{2340, "Comment started on line %d has no end"}
	XQueryNumber             = XQueryProblem{2342, "Invalid numeric constant."}
	XQueryFirstLast          = XQueryProblem{2351, "Expected 'first' or 'last'"}
	XQueryReplaceType        = XQueryProblem{2356, "The target of 'replace value of' must be a non-metadata attribute or an element with simple typed content, found '%s'"}
	XQueryComplex            = XQueryProblem{2363, "XQuery too complex"}
	XQueryImplicit           = XQueryProblem{2364, "Cannot implicitly convert from '%s' to '%s'"}
	XQueryExplicit           = XQueryProblem{2365, "Cannot explicitly convert from '%s' to '%s'"}
	XQueryPosition           = XQueryProblem{2371, "'%s' can only be used within a predicate or XPath selector"}
	XQueryConstructed        = XQueryProblem{2373, "%s is not supported with constructed XML"}
	XQueryNodes              = XQueryProblem{2374, "A node or set of nodes is required for %s"}
	XQuerySingleton          = XQueryProblem{2389, "'%s' requires a singleton (or empty sequence), found operand of type '%s'"}
	XQueryAxis               = XQueryProblem{2392, "'%s::' is not a valid axis"}
	XQueryFunction           = XQueryProblem{2395, "There is no function '{%s}:%s()'"}
	XQueryAttribute          = XQueryProblem{2396, "Attribute may not appear outside of an element"}
	XQueryCastMark           = XQueryProblem{9301, "In this version of the server, 'cast as <type>' is not available. Please use the 'cast as <type> ?' syntax."}
	XQueryNear               = XQueryProblem{9303, "Syntax error near '%s', expected '%s'."}
	XQueryArithmetic         = XQueryProblem{9308, "The argument of '%s' must be of a single numeric primitive type or 'http://www.w3.org/2004/07/xpath-datatypes#untypedAtomic'. Found argument of type '%s'."}
	XQueryReplaceConstructed = XQueryProblem{9310, "The 'with' clause of 'replace value of' cannot contain constructed XML."}
	XQueryAttributeParts     = XQueryProblem{9313, "This version of the server does not support multiple expressions or expressions mixed with strings in an attribute constructor."}
	XQueryConstantName       = XQueryProblem{9315, "Only constant expressions are supported for the name expression of computed element and attribute constructors."}
	XQueryXMLNS              = XQueryProblem{9316, "Cannot use 'xmlns' in the name expression of computed attribute constructor."}
	XQueryLiteral            = XQueryProblem{9319, "Static simple type validation: Invalid simple type value '%s'."}
	XQueryTwoHyphens         = XQueryProblem{9322, "Two consecutive '-' can only appear in a comment constructor if they are used to close the comment ('-->')."}
	XQueryBrace              = XQueryProblem{9324, "Found '}' without matching '{'. If you want to use the characters '{' or '}', you need to escape them as '{{' or '}}' respectively."}
	XQueryComputedPI         = XQueryProblem{9325, "Computed processing instruction constructors are not supported."}
	XQueryComputedComment    = XQueryProblem{9326, "Computed comment constructors are not supported."}
	XQueryProlog             = XQueryProblem{9327, "All prolog entries need to end with ';', found '%s'."}
	XQueryClause             = XQueryProblem{9332, "Syntax error near '%s', expected 'where', '(stable) order by' or 'return'."}
	XQueryUnsupported        = XQueryProblem{9335, "The XQuery syntax '%s' is not supported."}
	XQueryNamespaceValue     = XQueryProblem{9338, "The value of a namespace declaration attribute must be a string literal. It cannot contain expressions."}
	XQueryInstance           = XQueryProblem{9342, "An XML instance is only supported as the direct source of an insert using sql:column/sql:variable."}
	XQuerySQLType            = XQueryProblem{9344, "The SQL type '%s' is not supported with sql:column() and sql:variable()."}
)

// Errors of the methods of xml and of FOR XML.
var (
	XQueryEmpty = of[func() *Error](6306)
	// XQueryNoChange: the text of modify is no change.
	XQueryNoChange        = of[func() *Error](6305)
	XMLLooseAttribute     = of[func() *Error](6307)
	XMLDuplicateAttribute = of[func(name string) *Error](6308)
	// XQuerySQLVariable: sql:variable names no variable.
	XQuerySQLVariable     = of[func(name string) *Error](9501)
	XQuerySQLVariableName = of[func(name string) *Error](9519)
	// XMLValueType: value has a type that it cannot return.
	XMLValueType = of[func(name string) *Error](9500)
	// XMLMethodLiteral: argument counts from 1.
	XMLMethodLiteral = of[func(argument int, method string) *Error](8172)
	// XMLMutator: modify where a value is expected.
	XMLMutator = of[func(method string) *Error](8137)
	// XMLNoMutator: another method than modify in SET.
	XMLNoMutator = of[func(method string) *Error](8113)
	// XMLMutatorOfNull: modify of NULL; target is the variable or column.
	XMLMutatorOfNull = of[func(target string) *Error](5302)
	NodesColumn      = of[func(column string) *Error](493)
	// NodesAlias: nodes without the names of its table and column.
	NodesAlias    = of[func() *Error](318)
	UnknownMethod = of[func(name string) *Error](227)
	// NoMethods: a method of a type without methods.
	NoMethods = of[func(typeName string) *Error](258)
	// XMLAutoNeedsTable: FOR XML AUTO without a FROM clause.
	XMLAutoNeedsTable  = of[func() *Error](6800)
	XMLUnnamed         = of[func() *Error](6809)
	XQueryReplaceNone  = of[func() *Error](6325)
	XQueryReplaceEmpty = of[func() *Error](6320)
	// XMLCharacter: a character that XML does not allow.
	XMLCharacter = of[func(node string, c rune) *Error](6309)
	// XQueryTooLong: argument counts from 1.
	XQueryTooLong      = of[func(argument int, method string, most int) *Error](9502)
	XMLAutoGroups      = of[func() *Error](6821)
	XMLExplicitColumns = of[func() *Error](6801)
	XMLExplicitTag     = of[func() *Error](6803)
	XMLExplicitParent  = of[func() *Error](6804)
	XMLBinaryAddress   = of[func(column string) *Error](6829)
)

// RemoteFunction is error 344: a method of a column with three or more parts in its name.
func RemoteFunction(name string) *Error { return Of(344, name, name) }

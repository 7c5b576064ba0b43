package mserr

// Errors of sp_describe_first_result_set and sp_describe_undeclared_parameters.

// BatchNotAnalyzed is error 11501, which follows an error in the batch.
func BatchNotAnalyzed() *Error {
	return New(11501, 16, "The batch could not be analyzed because of compile errors.")
}

// TypeNotDeduced is error 11502.
func TypeNotDeduced(param string) *Error {
	return New(11502, 16, "The type for parameter '%s' cannot be deduced in this context.", param)
}

// UntypedParameters is error 11503.
func UntypedParameters(x, y string) *Error {
	return New(11503, 16, "The parameter type cannot be deduced because a single expression contains two "+
		"untyped parameters, '%s' and '%s'.", x, y)
}

// AmbiguousParameter is error 11506.
func AmbiguousParameter(param, x, y string) *Error {
	return New(11506, 16, "The parameter type for '%s' cannot be uniquely deduced; two possibilities are "+
		"'%s' and '%s'.", param, x, y)
}

// RepeatedParameter is error 11508.
func RepeatedParameter(param string) *Error {
	return New(11508, 16, "The undeclared parameter '%s' is used more than once in the batch being analyzed.", param)
}

package mserr

// Errors of sp_describe_first_result_set and sp_describe_undeclared_parameters.

// BatchNotAnalyzed is error 11501, which follows an error in the batch.
func BatchNotAnalyzed() *Error { return Of(11501) }

// TypeNotDeduced is error 11502.
func TypeNotDeduced(param string) *Error { return Of(11502, param) }

// UntypedParameters is error 11503.
func UntypedParameters(x, y string) *Error { return Of(11503, x, y) }

// AmbiguousParameter is error 11506.
func AmbiguousParameter(param, x, y string) *Error { return Of(11506, param, x, y) }

// RepeatedParameter is error 11508.
func RepeatedParameter(param string) *Error { return Of(11508, param) }

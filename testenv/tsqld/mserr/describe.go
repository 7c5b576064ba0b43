package mserr

// Errors of sp_describe_first_result_set and sp_describe_undeclared_parameters.
var (
	// BatchNotAnalyzed follows an error in the batch.
	BatchNotAnalyzed   = of[func() *Error](11501)
	TypeNotDeduced     = of[func(param string) *Error](11502)
	UntypedParameters  = of[func(x, y string) *Error](11503)
	AmbiguousParameter = of[func(param, x, y string) *Error](11506)
	RepeatedParameter  = of[func(param string) *Error](11508)
)

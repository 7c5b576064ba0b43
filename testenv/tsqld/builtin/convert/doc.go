// Package convert turns arguments of functions into Go's texts and numbers, with the conversions
// and errors of CAST.
package convert

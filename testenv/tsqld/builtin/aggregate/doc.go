// Package aggregate has the accumulators of the aggregate functions and of PERCENTILE_CONT and
// PERCENTILE_DISC. Their names, arguments and result types are in the table of package builtin.
package aggregate

// Package rolematrix has the test that walks all operations of all surfaces of the REST front with
// each role: what the front refuses, and what the control database refuses if the front errs. The
// table is testdata/role_matrix.txt; that of the procedures is sql/testdata/role_matrix.txt.
package rolematrix

// Package rolematrix has the test that walks all operations of all surfaces of the REST front with
// each role: what the front refuses, and what the control database refuses if the front errs. The
// table is testdata/role_matrix.txt; what the roles may do in T-SQL is tried by testenv/script.
package rolematrix

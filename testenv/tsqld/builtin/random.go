package builtin

import "math/rand/v2"

// Generator is the generator of RAND, with SQL Server's numbers. It combines two multiplicative
// congruential generators of L'Ecuyer ("Efficient and portable combined random number generators",
// 1988); a seed sets the first one. The examples of "RAND (Transact-SQL)" are its tests. The zero
// Generator starts at a random state.
type Generator struct{ first, second int64 }

// Parameters of the two generators, and their states after a seed (of 0 for the first one).
const (
	firstModulus, firstFactor   = 2147483563, 40014
	secondModulus, secondFactor = 2147483399, 40692
	firstStart, secondStart     = 12345, 67890
)

// Seed restarts the generator.
func (g *Generator) Seed(seed int64) {
	g.first, g.second = max(seed, -seed)%firstModulus, secondStart
	if g.first == 0 {
		g.first = firstStart
	}
}

// Next returns the next number in (0,1).
func (g *Generator) Next() float64 {
	if g.first == 0 {
		g.first, g.second = 1+rand.Int64N(firstModulus-1), 1+rand.Int64N(secondModulus-1)
	}
	g.first = g.first * firstFactor % firstModulus
	g.second = g.second * secondFactor % secondModulus
	z := g.first - g.second
	if z < 1 {
		z += firstModulus - 1
	}
	return float64(z) * 4.656613e-10
}

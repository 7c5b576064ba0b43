package secret

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newKey(t testing.TB) PrivateKey {
	t.Helper()
	k, err := GenerateKey(rand.Reader)
	require.NoError(t, err)
	return k
}

var place = Place{Database: "0f8fad5b-d9cb-469f-a165-70867728950e", Owner: "", Name: "api", Version: 3}

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	one, two, other := newKey(t), newKey(t), newKey(t)
	for _, value := range []string{"x", "p-secret-123 é\n", strings.Repeat("y", MaxLength)} {
		s, err := Seal(rand.Reader, place, value, []PublicKey{one.Public(), two.Public()})
		require.NoError(t, err)
		require.Len(t, s.Nonce, 12)
		require.Len(t, s.Ciphertext, len(value)+16)
		require.Len(t, s.Keys, 2)
		for _, k := range s.Keys {
			require.Len(t, k.Data, 32+32+16)
		}
		for _, keys := range [][]PrivateKey{{one}, {two}, {other, two}, {one, two}} {
			got, err := s.Open(place, keys)
			require.NoError(t, err)
			require.Equal(t, value, got)
		}
		_, err = s.Open(place, []PrivateKey{other})
		require.ErrorIs(t, err, ErrNoKey)
		_, err = s.Open(place, nil)
		require.ErrorIs(t, err, ErrNoKey)
		if len(value) > 3 {
			text := s.JSON(3) + fmt.Sprintf("%+v", s)
			require.NotContains(t, text, value)
			require.NotContains(t, text, hex.EncodeToString([]byte(value)))
		}
	}
	_, err := Seal(rand.Reader, place, "", []PublicKey{one.Public()})
	require.EqualError(t, err, "the secret is empty")
	_, err = Seal(rand.Reader, place, strings.Repeat("y", MaxLength+1), []PublicKey{one.Public()})
	require.EqualError(t, err, "the secret has 65537 bytes: want at most 65536")
	_, err = Seal(rand.Reader, place, "x", nil)
	require.EqualError(t, err, "no key to seal the secret for")
	_, err = Seal(bytes.NewReader(make([]byte, 40)), place, "x", []PublicKey{one.Public()})
	require.Error(t, err, "too little randomness")
}

// The hosts of a secret cannot be changed: neither more, nor fewer, nor in other parts.
func TestHostsAreBound(t *testing.T) {
	t.Parallel()
	k := newKey(t)
	bound := place
	bound.Hosts = []string{"api.example.com", "*.example.org:443"}
	s, err := Seal(rand.Reader, bound, "value", []PublicKey{k.Public()})
	require.NoError(t, err)
	require.Contains(t, s.JSON(3, bound.Hosts...), `"hosts":["api.example.com","*.example.org:443"]`)
	require.NotContains(t, s.JSON(3), "hosts")
	got, err := s.Open(bound, []PrivateKey{k})
	require.NoError(t, err)
	require.Equal(t, "value", got)
	for _, hosts := range [][]string{
		nil, {}, {"*"}, {"api.example.com"}, {"*.example.org:443", "api.example.com"},
		{"api.example.com", "*.example.org:443", "evil.example"}, {"api.example.com*", ".example.org:443"},
		{"api.example.com*.example.org:443"}, {"api.example.com", "*.example.org"}, {"api.example.com", "*.example.org:443", ""},
	} {
		changed := bound
		changed.Hosts = hosts
		_, err := s.Open(changed, []PrivateKey{k})
		require.ErrorIs(t, err, ErrBroken, "%q", hosts)
		_, err = s.Reseal(changed, []PrivateKey{k}, []PublicKey{k.Public()})
		require.ErrorIs(t, err, ErrBroken, "%q", hosts)
	}
}

// No two values of one secret have the same data key or nonce.
func TestSealIsRandom(t *testing.T) {
	t.Parallel()
	k := newKey(t)
	a, err := Seal(rand.Reader, place, "same", []PublicKey{k.Public()})
	require.NoError(t, err)
	b, err := Seal(rand.Reader, place, "same", []PublicKey{k.Public()})
	require.NoError(t, err)
	require.NotEqual(t, a.Nonce, b.Nonce)
	require.NotEqual(t, a.Ciphertext, b.Ciphertext)
	require.NotEqual(t, a.Keys[0].Data, b.Keys[0].Data)
}

// A change of any byte, and any other place, is detected.
func TestTampering(t *testing.T) {
	t.Parallel()
	one, two := newKey(t), newKey(t)
	s, err := Seal(rand.Reader, place, "value", []PublicKey{one.Public(), two.Public()})
	require.NoError(t, err)
	keys := []PrivateKey{one}
	parts := map[string]func(*Sealed) *[]byte{
		"nonce":      func(s *Sealed) *[]byte { return &s.Nonce },
		"ciphertext": func(s *Sealed) *[]byte { return &s.Ciphertext },
		"data key":   func(s *Sealed) *[]byte { return &s.Keys[0].Data },
	}
	for name, part := range parts {
		for i := range *part(&s) {
			changed := s.clone()
			(*part(&changed))[i] ^= 1
			_, err := changed.Open(place, keys)
			require.ErrorIs(t, err, ErrBroken, "%s, byte %d", name, i)
		}
		for _, cut := range []int{0, 1, len(*part(&s)) - 1} {
			changed := s.clone()
			p := part(&changed)
			*p = (*p)[:cut]
			_, err := changed.Open(place, keys)
			require.ErrorIs(t, err, ErrBroken, "%s cut to %d bytes", name, cut)
		}
		changed := s.clone()
		p := part(&changed)
		*p = append(*p, 0)
		_, err := changed.Open(place, keys)
		require.ErrorIs(t, err, ErrBroken, "%s with a byte more", name)
	}

	// The data key of another recipient under this recipient's ID.
	changed := s.clone()
	changed.Keys[0].Data = s.Keys[1].Data
	_, err = changed.Open(place, keys)
	require.ErrorIs(t, err, ErrBroken)
	// With a second key that works, the first one does not matter.
	got, err := changed.Open(place, []PrivateKey{one, two})
	require.NoError(t, err)
	require.Equal(t, "value", got)

	for name, other := range map[string]Place{
		"database": {Database: "1f8fad5b-d9cb-469f-a165-70867728950e", Name: "api", Version: 3},
		"owner":    {Database: place.Database, Owner: "x", Name: "api", Version: 3},
		"name":     {Database: place.Database, Name: "apj", Version: 3},
		"version":  {Database: place.Database, Name: "api", Version: 2},
		"moved":    {Database: place.Database, Owner: "a", Name: "pi", Version: 3},
		"hosts":    {Database: place.Database, Name: "api", Version: 3, Hosts: []string{"api.example.com"}},
	} {
		_, err := s.Open(other, keys)
		require.ErrorIs(t, err, ErrBroken, name)
		_, err = s.Reseal(other, keys, []PublicKey{two.Public()})
		require.ErrorIs(t, err, ErrBroken, name)
	}
	// The value of one secret with the data key of another.
	s2, err := Seal(rand.Reader, place, "other", []PublicKey{one.Public()})
	require.NoError(t, err)
	mixed := s.clone()
	mixed.Keys = s2.Keys
	_, err = mixed.Open(place, keys)
	require.ErrorIs(t, err, ErrBroken)
}

func (s Sealed) clone() Sealed {
	c := Sealed{Nonce: bytes.Clone(s.Nonce), Ciphertext: bytes.Clone(s.Ciphertext)}
	for _, k := range s.Keys {
		c.Keys = append(c.Keys, SealedKey{k.ID, bytes.Clone(k.Data)})
	}
	return c
}

// Rotation: who has the old and the new key seals the data key again, and the old key no longer
// opens it.
func TestReseal(t *testing.T) {
	t.Parallel()
	before, after := newKey(t), newKey(t)
	s, err := Seal(rand.Reader, place, "value", []PublicKey{before.Public()})
	require.NoError(t, err)
	_, err = s.Reseal(place, []PrivateKey{after}, []PublicKey{after.Public()})
	require.ErrorIs(t, err, ErrNoKey)
	rotated := s
	rotated.Keys, err = s.Reseal(place, []PrivateKey{before, after}, []PublicKey{after.Public()})
	require.NoError(t, err)
	got, err := rotated.Open(place, []PrivateKey{after})
	require.NoError(t, err)
	require.Equal(t, "value", got)
	_, err = rotated.Open(place, []PrivateKey{before})
	require.ErrorIs(t, err, ErrNoKey)
}

func TestKeys(t *testing.T) {
	t.Parallel()
	k := newKey(t)
	private, err := k.Text()
	require.NoError(t, err)
	again, err := ParsePrivateKey(" " + private + "\r\n")
	require.NoError(t, err)
	require.Equal(t, k.Public().ID(), again.Public().ID())
	public := k.Public()
	require.Equal(t, public.Bytes(), again.Public().Bytes())
	require.Regexp(t, "^[0-9A-F]{32}$", public.ID())
	for _, format := range []string{"%v", "%s", "%+v", "%#v", "%q"} {
		printed := fmt.Sprintf(format, k) + fmt.Sprintf(format, []PrivateKey{k})
		require.NotContains(t, printed, strings.TrimPrefix(private, privatePrefix), format)
		require.Contains(t, printed, public.ID())
	}

	for _, text := range []string{"", "x", private[:len(private)-1], private + "A", strings.TrimPrefix(private, privatePrefix),
		k.Public().String(), strings.Replace(private, "-1:", "-2:", 1)} {
		_, err := ParsePrivateKey(text)
		require.ErrorIs(t, err, ErrPrivateKey, text)
		require.NotContains(t, err.Error(), "A"+text+"A")
	}
	_, err = NewPublicKey(make([]byte, 31))
	require.ErrorIs(t, err, ErrPublicKey)
	_, err = GenerateKey(bytes.NewReader(make([]byte, 31)))
	require.Error(t, err)
}

// A low-order public key, with which everybody would know the shared secret, is refused.
func TestLowOrderKey(t *testing.T) {
	t.Parallel()
	k, err := NewPublicKey(make([]byte, 32))
	if err == nil {
		_, err = Seal(rand.Reader, place, "x", []PublicKey{k})
	}
	require.Error(t, err)
}

// Whatever is stored: Open returns the value that was sealed, or one of its two errors.
func FuzzOpen(f *testing.F) {
	k := newKey(f)
	s, err := Seal(rand.Reader, place, "value", []PublicKey{k.Public()})
	require.NoError(f, err)
	f.Add(s.Nonce, s.Ciphertext, s.Keys[0].Data, 3)
	f.Add([]byte{}, []byte{}, []byte{}, 0)
	f.Fuzz(func(t *testing.T, nonce, ciphertext, data []byte, version int) {
		p := place
		p.Version = version
		got, err := Sealed{nonce, ciphertext, []SealedKey{{k.Public().ID(), data}}}.Open(p, []PrivateKey{k})
		if err == nil && got != "value" || err != nil && !errors.Is(err, ErrBroken) {
			t.Fatalf("opened as %q, %v", got, err)
		}
	})
}

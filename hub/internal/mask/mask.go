package mask
func MaskCPF(b []byte) []byte { return b }

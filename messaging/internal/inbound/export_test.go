package inbound

// Waiting returns how many messages of a connection wait to be stored. isStoring is true while
// others of the connection are being stored.
func (s *Service) Waiting(connection int64) (messages int, isStoring bool) {
	s.batches.mu.Lock()
	defer s.batches.mu.Unlock()
	waiting, isStoring := s.batches.waiting[connection]
	return len(waiting), isStoring
}

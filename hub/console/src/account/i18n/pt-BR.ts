import { clinic } from "./clinic.pt-BR";
import type { AccountMessages } from "./en";
import { messaging } from "./messaging.pt-BR";

export const messages: AccountMessages = {
	...clinic,
	...messaging,
	nav: { connections: "Conexões", integrations: "Integrações", clinic: "Pacientes", inbox: "Caixa de entrada", imports: "Importações", deletions: "Pedidos de exclusão", messaging: "Mensagens", chatConnections: "Conexões de chat" },
	shell: {
		search: "Buscar no registro por evento, entrega ou id de correlação",
		roles: { owner: "Proprietário", admin: "Administrador", staff: "Equipe", professional: "Profissional", user: "Usuário" },
	},
	integrations: {
		lead: "Outros produtos aos quais esta conta está conectada.",
		empty: "Conecte outro produto com uma chave que ele emitiu.",
	},
};

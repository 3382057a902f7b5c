import { clinic } from "./clinic.es";
import type { AccountMessages } from "./en";
import { messaging } from "./messaging.es";

export const messages: AccountMessages = {
	...clinic,
	...messaging,
	nav: { connections: "Conexiones", integrations: "Integraciones", clinic: "Pacientes", inbox: "Bandeja de entrada", imports: "Importaciones", deletions: "Solicitudes de eliminación", messaging: "Mensajes", chatConnections: "Conexiones de chat" },
	shell: {
		search: "Buscar en el registro por evento, entrega o id de correlación",
		roles: { owner: "Propietario", admin: "Administrador", staff: "Equipo", professional: "Profesional", user: "Usuario" },
	},
	integrations: {
		lead: "Otros productos a los que está conectada esta cuenta.",
		empty: "Conecte otro producto con una clave que este emitió.",
	},
};
